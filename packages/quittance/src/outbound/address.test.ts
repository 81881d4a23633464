import { describe, expect, it } from 'vitest';
import { isForbiddenAddress, isPrivateAddress } from './address.ts';

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
    '64:ff9b:1:a9fe:a9:fe00:808:808',
    '64:ff9b::7f00:1',
    '::ffff:0:10.0.0.1',
    '::ffff:0:127.0.0.1',
    '::ffff:0:8.8.8.8',
    '::10.0.0.1',
    '2001:0:808:808::1',
    '2001:10::1',
    '3fff::1',
    '5f00::1',
    'fe80::1%eth0',
    '::1%lo',
    'fd00:ec2::254',
    '192.88.99.1',
    '240.0.0.1',
  ])('finds %s private', (address) => expect(isPrivateAddress(address)).toBe(true));

  it.each([
    '8.8.8.8',
    '172.15.0.1',
    '172.32.0.1',
    '100.128.0.1',
    '2606:4700::1111',
    '2001:4860:4860::8888',
    '2002:808:808::1',
    '64:ff9b::8.8.8.8',
    '::ffff:8.8.8.8',
  ])('finds %s public', (address) => expect(isPrivateAddress(address)).toBe(false));

  it('does not judge names', () => expect(isPrivateAddress('localhost')).toBe(false));
});

describe('isForbiddenAddress', () => {
  it.each([
    '169.254.169.254',
    '::ffff:169.254.169.254',
    '::ffff:0:169.254.169.254',
    '::169.254.169.254',
    '::ffff:0:0.0.0.0',
    '64:ff9b::169.254.169.254',
    '64:ff9b:1:a9fe:a9:fe00:808:808',
    '2002:a9fe:a9fe::1',
    'fe80::1%eth0',
    'fd00:ec2::254',
    '100.100.100.200',
    '0.0.0.0',
    '::',
  ])('finds %s forbidden, also if private addresses are allowed', (address) =>
    expect(isForbiddenAddress(address)).toBe(true),
  );

  it.each(['10.0.0.1', '127.0.0.1', '::1', 'fd12::1', '8.8.8.8'])('leaves %s to the settings', (address) =>
    expect(isForbiddenAddress(address)).toBe(false),
  );
});
