import { describe, expect, it } from 'vitest';
import { isPrivateAddress } from './address.ts';

describe('isPrivateAddress', () => {
  it.each([
    '10.0.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '100.64.0.1',
    '127.0.0.1',
    '169.254.169.254',
    '0.0.0.0',
    '192.0.2.1',
    '198.18.0.1',
    '203.0.113.9',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    'fc00::1',
    'fdff::1',
    'fe80::1',
    'fec0::1',
    'ff02::1',
    '2001:db8::1',
    '::ffff:10.0.0.1',
    '::ffff:7f00:1',
    '64:ff9b::10.1.2.3',
    '2002:c0a8:101::',
    '100::1',
  ])('finds %s private', (address) => expect(isPrivateAddress(address)).toBe(true));

  it.each(['8.8.8.8', '172.15.0.1', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '::ffff:8.8.8.8'])(
    'finds %s public',
    (address) => expect(isPrivateAddress(address)).toBe(false),
  );

  it('does not judge names', () => expect(isPrivateAddress('localhost')).toBe(false));
});
