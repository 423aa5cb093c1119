/* SPDX-License-Identifier: MIT */
/* stub.h - what stub.S and remote.c agree on; included by both */
#ifndef TRACEFUSE_CLI_ATTACH_STUB_H
#define TRACEFUSE_CLI_ATTACH_STUB_H

#define ATTACH_MARK	0x74726163	/* getpid()'s first argument, which it ignores */
#define ATTACH_PATH	1024		/* bytes of each path, with its 0 */

#ifndef __ASSEMBLER__
extern const unsigned char attach_stub[], attach_stub_code[], attach_stub_end[];
#endif

#endif
