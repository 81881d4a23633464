/**
 * Determines whether two names, or two identities, belong to one person. Used to keep the requester of a call from
 * approving it.
 *
 * 1. A wrong "yes" refuses an approval that another person can give. A wrong "no" lets a person approve their
 *    own call. So names are compared loosely: case, accents, strokes through letters, ligatures, spaces,
 *    punctuation, invisible characters and look-alike characters make no difference.
 * 2. Loose comparison never gives a permission.
 */
import type { DirectIdentity, Identity, ProviderIdentity } from './identity.ts';

/**
 * Letters of other scripts, and digits, that look like a Latin letter. Also Latin letters that people write without
 * their stroke, or as two letters. After NFKC, without accents, in lower case.
 */
const lookAlikes: ReadonlyMap<string, string> = new Map(
  Object.entries({
    a: 'аαɑᴀⲁꭺ',
    ae: 'æ',
    b: 'вьЬʙƅᏏƀ',
    c: 'сϲᴄⅽⲥȼ',
    d: 'ԁɗᏧđð',
    e: 'еєҽεℯɇ',
    f: 'ƒꞙẝϝ',
    g: 'ɡցԍɢǥ',
    h: 'һհнʜⲏħ',
    j: 'јϳյɉ',
    k: 'кκᴋⲕ',
    l: 'iıіιɩӏ1|ǀⲓlɪʟ!łƚɨ',
    m: 'мᴍⲙϻ',
    n: 'пոռɴⲛηŋ',
    o: 'оοօσς0ᴏⲟøө°ɵ',
    oe: 'œ',
    p: 'рρⲣᴘþ',
    q: 'ԛգզ',
    r: 'гᴦⲅʀɍ',
    s: 'ѕꜱ5$',
    ss: 'ß',
    t: 'тτᴛⲧŧ',
    u: 'υʋᴜսʉ',
    v: 'ѵνᴠⱱ',
    w: 'ѡԝωɯᴡ',
    x: 'хχⲭ×',
    y: 'уүγʏⲩɏ',
    z: 'ᴢʐƶ',
  }).flatMap(([latin, others]) => Array.from(others, (other) => [other, latin] as const)),
);

/** A name without differences in spelling. Empty for a name without letters and digits. */
export const nameKey = (name: string): string =>
  Array.from(name.normalize('NFKC').toLowerCase().normalize('NFKD'), (char) => lookAlikes.get(char) ?? char)
    .join('')
    .replace(/[^\p{L}\p{N}]/gu, '');

export function isSameName(left: string | undefined, right: string | undefined): boolean {
  if (left === undefined || right === undefined) return false;
  const key = nameKey(left);
  // A name without letters and digits has no key, so it is compared exactly.
  return key === '' ? left.trim() === right.trim() : key === nameKey(right);
}

/** True if the name can be compared with others. A blank or a dash names no person. */
export const isComparable = (name: string): boolean => nameKey(name) !== '';

/** The same name except for case and Unicode compatibility forms. Strict enough to look a person up. */
export const isSpelledAlike = (left: string, right: string): boolean => plain(left) === plain(right);
const plain = (name: string): string => name.normalize('NFKC').trim().toLowerCase();

/** Every name in an identity, for comparisons that refuse. A provider's name may be one that the person can change. */
export function namesOf(identity: Identity): readonly string[] {
  switch (identity.kind) {
    case 'token':
      return identity.person === undefined ? [identity.name] : [identity.name, identity.person];
    case 'os_user':
      return [identity.user];
    case 'provider':
      return [
        ...(identity.name === undefined ? [] : [identity.name]),
        ...(identity.aliases ?? []),
        ...subjectNames(identity),
      ];
    case 'self_asserted':
      return [];
    case 'link':
      return [
        ...(identity.maker.kind === 'person'
          ? [identity.maker.name, ...namesOf(identity.maker.identity)]
          : []),
        ...(identity.holder.kind === 'typed' ? [identity.holder.name] : []),
        ...(identity.holder.kind === 'signed_in' ? namesOf(identity.holder.identity) : []),
      ];
  }
}

/** The exact names of a person at a provider, which only the provider gives. */
export const subjectNames = ({ issuer, subject }: ProviderIdentity): readonly string[] => [
  subject,
  `${issuer}#${subject}`,
];

/** The direct identities in an identity: itself, or those of the maker and the user of a link. */
export function directOf(identity: Identity): readonly DirectIdentity[] {
  if (identity.kind !== 'link') return [identity];
  return [
    ...(identity.maker.kind === 'person' ? [identity.maker.identity] : []),
    ...(identity.holder.kind === 'signed_in' ? [identity.holder.identity] : []),
  ];
}

/** True for the same verified person, independent of the names. */
export function isSameIdentity(left: DirectIdentity, right: DirectIdentity): boolean {
  if (left.kind === 'token' && right.kind === 'token') return left.id === right.id;
  if (left.kind === 'provider' && right.kind === 'provider')
    return left.issuer === right.issuer && left.subject === right.subject;
  if (left.kind === 'os_user' && right.kind === 'os_user')
    return left.uid === undefined || right.uid === undefined
      ? left.user === right.user
      : left.uid === right.uid;
  return false;
}
