import { describe, expect, test } from 'vitest';
import type { ProxyHeader } from './read-address.ts';
import { createIsProxy, createReadAddress, limitKey } from './read-address.ts';

const reader = (
  proxies: readonly string[],
  header: ProxyHeader = 'x-forwarded-for',
): ReturnType<typeof createReadAddress> => createReadAddress(createIsProxy({ proxies }), header);

describe('the address of a caller', () => {
  test.each([
    ['without trusted proxies the header is ignored', [], '9.9.9.9', '1.1.1.1', '9.9.9.9'],
    [
      'from an address that is not a trusted proxy it is ignored',
      ['10.0.0.0/8'],
      '9.9.9.9',
      '1.1.1.1',
      '9.9.9.9',
    ],
    ['a trusted proxy is believed', ['10.0.0.7'], '10.0.0.7', '1.1.1.1', '1.1.1.1'],
    ['what the caller wrote left of it is not', ['10.0.0.7'], '10.0.0.7', '6.6.6.6, 1.1.1.1', '1.1.1.1'],
    [
      'a chain of trusted proxies is followed',
      ['10.0.0.0/8'],
      '10.0.0.7',
      '6.6.6.6, 1.1.1.1, 10.2.3.4',
      '1.1.1.1',
    ],
    [
      'a spoofed trusted hop left of the caller is not',
      ['10.0.0.0/8'],
      '10.0.0.7',
      '10.9.9.9, 1.1.1.1',
      '1.1.1.1',
    ],
    [
      'text that is not an address stops at the proxy',
      ['10.0.0.7'],
      '10.0.0.7',
      '1.1.1.1, unknown',
      '10.0.0.7',
    ],
    ['an empty header stops at the proxy', ['10.0.0.7'], '10.0.0.7', '', '10.0.0.7'],
    [
      'IPv4 written as IPv6 is the same address',
      ['10.0.0.7'],
      '::ffff:10.0.0.7',
      '::ffff:1.1.1.1',
      '1.1.1.1',
    ],
    ['a port is not part of it', ['::1'], '::1', '1.1.1.1:4711', '1.1.1.1'],
    ['IPv6 may stand in brackets', ['::1'], '::1', '[2001:db8::1]:4711', '2001:db8::1'],
    ['IPv6 networks are trusted', ['fd00::/8'], 'fd12::1', '2001:db8::2', '2001:db8::2'],
  ] as const)('%s', (_, proxies, socket, header, address) => {
    expect(reader(proxies)(socket, header)).toBe(address);
  });

  test.each([
    ['for=1.1.1.1', '1.1.1.1'],
    ['For="[2001:db8::1]:4711"; proto=https', '2001:db8::1'],
    ['for=6.6.6.6, for=1.1.1.1;by=10.0.0.1', '1.1.1.1'],
    ['for=1.1.1.1, for=10.0.0.9', '1.1.1.1'],
    ['for="6.6.6.6, for=7.7.7.7", for=_hidden', '10.0.0.7'],
    ['for="a\\",for=6.6.6.6"', '10.0.0.7'],
    ['proto=https', '10.0.0.7'],
  ])('the address of a caller of Forwarded: %s', (header, address) => {
    expect(reader(['10.0.0.0/8'], 'forwarded')('10.0.0.7', header)).toBe(address);
  });

  test('a proxy that is not an address or network is refused at the start', () => {
    for (const wrong of ['example.org', '10.0.0.0/33', '10.0.0.0/', '*', '0.0.0.0/0', '::/0', ''])
      expect(() => createIsProxy({ proxies: [wrong] })).toThrow(/A trusted proxy must be an address/);
  });

  test('limits count the whole network of one IPv6 caller', () => {
    expect(limitKey('1.2.3.4')).toBe('1.2.3.4');
    expect(limitKey('2001:db8:0:1:aaaa::1')).toBe(limitKey('2001:db8:0:1:bbbb:0:0:2'));
    expect(limitKey('2001:db8::1')).toBe('2001:db8:0:0::/64');
    expect(limitKey('2001:0db8::1')).toBe('2001:db8:0:0::/64');
    expect(limitKey('2001:db8:0:2::1')).not.toBe(limitKey('2001:db8:0:1::1'));
  });
});
