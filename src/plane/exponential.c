/* SPDX-License-Identifier: MIT */
/*
 * exponential.c - buckets whose bounds grow by a constant factor: the modifier .exp=SCALE
 *
 * The table has the whole part of 2^63 * 2^(k/256). For a smaller scale every second, fourth ...
 * entry is a bound. No bound but the first is a whole number before it is cut, so a value that is
 * not above the entry is not above the bound: the buckets are exact.
 */
#include "plane/exponential.h"

enum { TABLE_SCALE = EXPONENTIAL_SCALE_MAX };

static const uint64_t bounds[1 << TABLE_SCALE] = {
	0x8000000000000000u, 0x8058d7d2d5e5f6b0u, 0x80b1ed4fd999ab6cu, 0x810b40a1d81406d4u,
	0x8164d1f3bc030773u, 0x81bea1708dde6055u, 0x8218af4373fc25ebu, 0x8272fb97b2a5894cu,
	0x82cd8698ac2ba1d7u, 0x83285071e0fc4546u, 0x8383594eefb6ee36u, 0x83dea15b9541b132u,
	0x843a28c3acde4046u, 0x8495efb3303efd2fu, 0x84f1f656379c1a29u, 0x854e3cd8f9c8c95du,
	0x85aac367cc487b14u, 0x86078a2f23642a9fu, 0x8664915b923fba03u, 0x86c1d919caef5c87u,
	0x871f61969e8d1010u, 0x877d2afefd4e256cu, 0x87db357ff698d791u, 0x88398146b919f1d4u,
	0x88980e8092da8527u, 0x88f6dd5af155ac6bu, 0x8955ee03618e5fdcu, 0x89b540a7902557a3u,
	0x8a14d575496efd9au, 0x8a74ac9a79896e46u, 0x8ad4c6452c728924u, 0x8b3522a38e1e1031u,
	0x8b95c1e3ea8bd6e6u, 0x8bf6a434adde0084u, 0x8c57c9c4646f4dddu, 0x8cb932c1bae97a95u,
	0x8d1adf5b7e5ba9e5u, 0x8d7ccfc09c50e2f7u, 0x8ddf042022e69cd5u, 0x8e417ca940e35a01u,
	0x8ea4398b45cd53c0u, 0x8f073af5a2013520u, 0x8f6a8117e6c8e5c4u, 0x8fce0c21c6726481u,
	0x9031dc431466b1dcu, 0x9095f1abc540ca6bu, 0x90fa4c8beee4b12au, 0x915eed13c89689d3u,
	0x91c3d373ab11c336u, 0x9228ffdc10a051acu, 0x928e727d9531f9acu, 0x92f42b88f673aa7cu,
	0x935a2b2f13e6e92bu, 0x93c071a0eef94bc0u, 0x9426ff0fab1c04b6u, 0x948dd3ac8ddb7ed3u,
	0x94f4efa8fef70961u, 0x955c5336887894d5u, 0x95c3fe86d6cc7feeu, 0x962bf1cbb8d9755fu,
	0x96942d3720185a00u, 0x96fcb0fb20ac4ba2u, 0x97657d49f17ab08eu, 0x97ce9255ec4357abu,
	0x9837f0518db8a96fu, 0x98a1976f7597e995u, 0x990b87e266c189a9u, 0x9975c1dd47518c77u,
	0x99e0459320b7fa64u, 0x9a4b13371fd166cau, 0x9ab62afc94ff864au, 0x9b218d16f441d63cu,
	0x9b8d39b9d54e5538u, 0x9bf93118f3aa4cc1u, 0x9c6573682ec32c2du, 0x9cd200db8a0774cau,
	0x9d3ed9a72cffb750u, 0x9dabfdff6367a2a9u, 0x9e196e189d472420u, 0x9e872a276f0b98ffu,
	0x9ef5326091a111adu, 0x9f6386f8e28ba650u, 0x9fd228256400dd05u, 0xa041161b3d0121bdu,
	0xa0b0510fb9714fc2u, 0xa11fd9384a344cf7u, 0xa18faeca8544b6e3u, 0xa1ffd1fc25cea188u,
	0xa27043030c496818u, 0xa2e102153e918f9eu, 0xa3520f68e802bb92u, 0xa3c36b345991b47bu,
	0xa43515ae09e6809eu, 0xa4a70f0c95768ec4u, 0xa5195786be9ef339u, 0xa58bef536dbeb6edu,
	0xa5fed6a9b15138eau, 0xa6720dc0be08a20bu, 0xa6e594cfeee86b1du, 0xa7596c0ec55ff55bu,
	0xa7cd93b4e9653569u, 0xa8420bfa298f70d1u, 0xa8b6d5167b320e08u, 0xa92bef41fa77771bu,
	0xa9a15ab4ea7c0ef8u, 0xaa1717a7b5693979u, 0xaa8d2652ec907629u, 0xab0386ef48868de0u,
	0xab7a39b5a93ed337u, 0xabf13edf162675e8u, 0xac6896a4be3fe929u, 0xace0413ff83e5d03u,
	0xad583eea42a14ac6u, 0xadd08fdd43d01491u, 0xae493452ca35b80eu, 0xaec22c84cc5c9465u,
	0xaf3b78ad690a4374u, 0xafb51906e75b8661u, 0xb02f0dcbb6e04583u, 0xb0a957366fb7a3c9u,
	0xb123f581d2ac258fu, 0xb19ee8e8c94feb08u, 0xb21a31a66618fe3bu, 0xb295cff5e47db4a3u,
	0xb311c412a9112489u, 0xb38e0e38419fae17u, 0xb40aaea2654b9840u, 0xb487a58cf4a9c180u,
	0xb504f333f9de6484u, 0xb58297d3a8b9f0d1u, 0xb60093a85ed5f76bu, 0xb67ee6eea3b22b8fu,
	0xb6fd91e328d17791u, 0xb77c94c2c9d725e8u, 0xb7fbefca8ca41e7cu, 0xb87ba337a1743833u,
	0xb8fbaf4762fb9ee9u, 0xb97c143756844dbeu, 0xb9fcd2452c0b9deau, 0xba7de9aebe5fea08u,
	0xbaff5ab2133e45fbu, 0xbb81258d5b704b6fu, 0xbc034a7ef2e9fb0cu, 0xbc85c9c560e7b269u,
	0xbd08a39f580c36beu, 0xbd8bd84bb67ed482u, 0xbe0f6809860993e2u, 0xbe935317fc378237u,
	0xbf1799b67a731082u, 0xbf9c3c248e2486f8u, 0xc0213aa1f0d08db0u, 0xc0a6956e8836ca8cu,
	0xc12c4cca66709456u, 0xc1b260f5ca0fbb33u, 0xc238d2311e3d6672u, 0xc2bfa0bcfad907c8u,
	0xc346ccda24976407u, 0xc3ce56c98d21b15du, 0xc4563ecc5334cb32u, 0xc4de8523c2c07baau,
	0xc5672a115506daddu, 0xc5f02dd6b0bbc3d9u, 0xc67990b5aa245f79u, 0xc70352f04336c51du,
	0xc78d74c8abb9b15cu, 0xc817f681416452b2u, 0xc8a2d85c8ffe2c45u, 0xc92e1a9d517f0ecbu,
	0xc9b9bd866e2f27a2u, 0xca45c15afcc72623u, 0xcad2265e4290774du, 0xcb5eecd3b38597c8u,
	0xcbec14fef2727c5cu, 0xcc799f23d11510e5u, 0xcd078b86503dcdd1u, 0xcd95da6a9ff06444u,
	0xce248c151f8480e3u, 0xceb3a0ca5dc6a55du, 0xcf4318cf191918c1u, 0xcfd2f4683f94eeb5u,
	0xd06333daef2b2594u, 0xd0f3d76c75c5db8cu, 0xd184df6251699ac6u, 0xd2164c023056bcabu,
	0xd2a81d91f12ae45au, 0xd33a5457a3029054u, 0xd3ccf099859ac379u, 0xd45ff29e0972c560u,
	0xd4f35aabcfedfa1fu, 0xd5872909ab75d189u, 0xd61b5dfe9f9bce06u, 0xd6aff9d1e13ba2fdu,
	0xd744fccad69d6af4u, 0xd7da67311797f569u, 0xd870394c6db32c84u, 0xd9067364d44a929bu,
	0xd99d15c278afd7b5u, 0xda3420adba4d8704u, 0xdacb946f2ac9cc71u, 0xdb63714f8e295255u,
	0xdbfbb797daf23755u, 0xdc9467913a4f1c91u, 0xdd2d818508324c20u, 0xddc705bcd378f7f0u,
	0xde60f4825e0e9123u, 0xdefb4e1f9d1037f1u, 0xdf9612deb8f04420u, 0xe031430a0d99e627u,
	0xe0ccdeec2a94e111u, 0xe168e6cfd3295d23u, 0xe2055afffe83d368u, 0xe2a23bc7d7d91225u,
	0xe33f8972be8a5a51u, 0xe3dd444c46499618u, 0xe47b6ca0373da88du, 0xe51a02ba8e26d680u,
	0xe5b906e77c8348a8u, 0xe658797368b3a716u, 0xe6f85aaaee1fce22u, 0xe798aadadd5b9cbeu,
	0xe8396a503c4bdc68u, 0xe8da9958464b42aau, 0xe97c38406c4f8c56u, 0xea1e4756550eb27bu,
	0xeac0c6e7dd24392eu, 0xeb63b7431736983fu, 0xec0718b64c1cbddcu, 0xecaaeb8ffb03ab40u,
	0xed4f301ed9942b84u, 0xedf3e6b1d418a491u, 0xee990f980da3025bu, 0xef3eab20e032bc6bu,
	0xefe4b99bdcdaf5cbu, 0xf08b3b58cbe8b76au, 0xf13230a7ad094509u, 0xf1d999d8b7708cc1u,
	0xf281773c59ffb139u, 0xf329c9233b6bae9cu, 0xf3d28fde3a641a5au, 0xf47bcbbe6db9fddeu,
	0xf5257d152486cc2cu, 0xf5cfa433e6537290u, 0xf67a416c733f846du, 0xf7255510c4288238u,
	0xf7d0df730ad13bb8u, 0xf87ce0e5b2094d9bu, 0xf92959bb5dd4ba74u, 0xf9d64a46eb939f35u,
	0xfa83b2db722a033au, 0xfb3193cc4227c3f4u, 0xfbdfed6ce5f09c48u, 0xfc8ec01121e447bbu,
	0xfd3e0c0cf486c174u, 0xfdedd1b496a89f34u, 0xfe9e115c7b8f884bu, 0xff4ecb59511ec8a5u
};

static uint64_t bound(unsigned int scale, uint64_t k)
{
	return bounds[k << (TABLE_SCALE - scale)];
}

/* How many bounds of an octave are below v, whose highest bit is set. */
static uint64_t bounds_below(unsigned int scale, uint64_t v)
{
	uint64_t n = 0;

	for (uint64_t step = 1ull << scale >> 1; step; step >>= 1)
		if (bound(scale, n + step - 1) < v)
			n += step;
	return n + (bound(scale, n) < v);
}

uint64_t exponential_bucket(unsigned int scale, uint64_t v)
{
	const unsigned int zeros = v ? (unsigned int)__builtin_clzll(v) : 0;

	scale = scale < TABLE_SCALE ? scale : TABLE_SCALE;
	return v ? ((63ull - zeros) << scale) + bounds_below(scale, v << zeros) + 1 : 0;
}

/* The largest number that is not above 2^(i / 2^scale). */
static uint64_t power(unsigned int scale, uint64_t i)
{
	const uint64_t octave = i >> scale;

	if (octave > 63)
		return UINT64_MAX;
	return bound(scale, i & ((1ull << scale) - 1)) >> (63 - octave);
}

void exponential_range(unsigned int scale, uint64_t bucket, uint64_t *low, uint64_t *high)
{
	scale = scale < TABLE_SCALE ? scale : TABLE_SCALE;
	*high = bucket ? power(scale, bucket - 1) : 0;
	*low = bucket > 1 ? power(scale, bucket - 2) + 1 : *high;
}
