echo 'mutex_lock' 'mutex_unlock' 'kmem_cache_alloc*' '_raw_spin_lock' 'fdget*' 'ksys_write' > set_ftrace_filter
echo 1 > options/func-no-repeats
echo function > current_tracer
