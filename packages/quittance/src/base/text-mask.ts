import { commandHint, secretsInCommand } from './command-secrets.ts';
import type { SecretPattern, CharacterSpan } from './secret-pattern.ts';
import { redacted } from './secret-pattern.ts';
import { markupHint, markupSecretPatterns } from './markup-secrets.ts';
import { assignmentHint, secretAssignmentPatterns } from './secret-assignments.ts';
import type { JsonObject, JsonValue } from './json.ts';

/**
 * Private keys, as a text and spread over a payload. Programs return files as lists of lines or rows, so the
 * marker of a key and its lines may be in different texts.
 */

const source = String.raw;
const digit = '[A-Za-z0-9+/]';
const kinds = ['', 'RSA ', 'EC ', 'DSA ', 'OPENSSH ', 'ENCRYPTED ', 'PGP '];

/** Between two lines: real or escaped line ends, then a file name, a line number or the mark of a quotation. */
const lineEnd = source`(?:\\+[nrt]|\s){1,8}(?:[^\r\n]{0,80}[^A-Za-z0-9+/=\r\n\\])?`;

const block: SecretPattern = {
  name: 'private key block',
  // A cut-off key is hidden up to the next dashes.
  pattern:
    /-{4,5}\s?BEGIN\s[A-Z0-9\s]{0,40}PRIVATE\s{1,4}KEY(?:\sBLOCK)?\s?-{4,5}[^-]*(?:-(?!---)[^-]*)*(?:-{4,5}\s?END\s[A-Z0-9\s]{0,50}-{4,5})?/i,
};

const tail: SecretPattern = {
  name: 'tail of a private key',
  // Matched backwards from the marker: no text is read twice.
  pattern: new RegExp(
    source`(?<=(?<secret>(?:(?<!\\)${digit}{40,}${lineEnd})*(?<!\\)${digit}+={0,2}${lineEnd}))-{4,5}\s?END\s[A-Z0-9\s]{0,40}PRIVATE\s{1,4}KEY`,
    'i',
  ),
  confirm: (text) => /[A-Za-z0-9+/]{24}/.test(text),
};

/** The base64 of `-----BEGIN RSA PRIVATE KEY`, without the last digits that depend on what follows. */
const encodedMarkers = kinds.map((kind) => {
  const marker = `-----BEGIN ${kind}PRIVATE KEY`;
  return btoa(marker.slice(0, marker.length - (marker.length % 3)));
});

/** The same encoded twice, as in a secret inside a secret. */
const twiceEncodedMarkers = encodedMarkers.map((marker) =>
  btoa(marker.slice(0, marker.length - (marker.length % 3))),
);

const encoded: SecretPattern = {
  name: 'encoded private key',
  pattern: new RegExp(
    source`(?:${[...encodedMarkers, ...twiceEncodedMarkers].join('|')})[\w+/-]*(?:(?:\\?[\r\nrn]{1,4}|\\?"\s{0,4},\s{0,4}\\?")[\w+/-]{20,}){0,400}(?:(?:\\?[\r\nrn]{1,4}|\\?"\s{0,4},\s{0,4}\\?")[\w+/-]{2,19})?={0,2}`,
  ),
};

/** `-----BEGIN` and `PRIVATE` as hexadecimal digits, then the rest of them. */
const hexadecimal: SecretPattern = {
  name: 'private key in hexadecimal digits',
  pattern: new RegExp(
    source`(?:2[dD]){5}424547494[eE]20(?:[\da-fA-F]\s?){0,40}?5\s?0\s?5\s?2\s?4\s?9\s?5\s?6\s?4\s?1\s?5\s?4\s?4\s?5[\da-fA-F\s",]*`,
  ),
};

/** A text of the lines from the last to the first, e.g. of `tac`. Two keys in a row have no line between their markers. */
const lastLineFirst: SecretPattern = {
  name: 'private key from its last line',
  pattern:
    /-{4,5}\s?END\s[A-Z0-9\s]{0,40}PRIVATE\s{1,4}KEY(?:\sBLOCK)?\s?-{4,5}(?<secret>[^-]{24,})-{4,5}\s?BEGIN\s[A-Z0-9\s]{0,40}PRIVATE/i,
  confirm: (text) => /[A-Za-z0-9+/]{40}/.test(text),
};

const codesOf = (text: string): string =>
  Array.from(text, (letter) => letter.codePointAt(0)).join(source`,\s?`);

const webKeyValue = source`\\{0,7}"\s{0,8}:\s{0,8}(?<secret>\\{0,7}"[\w-]{16,}`;

export const privateKeyPatterns: readonly SecretPattern[] = [
  block,
  tail,
  encoded,
  hexadecimal,
  lastLineFirst,
  {
    name: 'private key from its last letter',
    pattern: /-{4,5}(?:KCOLB\s)?YEK\sETAVIRP\s[A-Z\s]{0,20}DNE-{4,5}[^-]*/,
  },
  {
    // The bytes of a file as a list of numbers.
    name: 'private key in decimal numbers',
    pattern: new RegExp(
      source`${codesOf('-----BEGIN ')}(?:,\s?\d{1,3}){0,20}?,\s?${codesOf('PRIVATE')}(?:,\s?\d{1,3})*`,
    ),
  },
  {
    // PKCS #8 without markers: RSA, P-256 and Ed25519. The public part of a pair begins differently.
    name: 'bare private key',
    pattern:
      /MII[A-Za-z0-9+/]{2,5}IBADANBgkqhkiG9w0BAQEFAAS[A-Za-z0-9+/]{40,}={0,2}|MIGHAgEAMBMGByqGSM49AgEG[A-Za-z0-9+/]{60,}={0,2}|MC4CAQAwBQYDK2VwBCIEI[A-Za-z0-9+/]{40,}={0,2}/,
  },
  {
    // The same bytes in hexadecimal digits.
    name: 'bare private key in hexadecimal digits',
    pattern:
      /30[\da-fA-F]{2,6}02010030(?:0[dD]06092[aA]864886[fF]70[dD]010101|1306072[aA]8648[cC][eE]3[dD]0201|0506032[bB]6570)[\da-fA-F\s]{40,}[\da-fA-F]/,
  },
  {
    // `RSAKeyValue` of XML signatures and .NET. The modulus and the exponent are public.
    name: 'private key in XML',
    pattern: /<(?:D[PQ]?|InverseQ|[PQ])>(?<secret>[A-Za-z0-9+/]{40,}={0,2})</,
  },
  { name: 'PuTTY key', pattern: /Private-Lines:\s{0,4}\d{1,4}(?<secret>[A-Za-z0-9+/=\s\\]{16,})/ },
  {
    // The other private members follow the first one, so the rest of the object is hidden.
    name: 'private JSON web key',
    pattern: new RegExp(source`"kty(?:(?!"kty)[^{}])*?"[dk]${webKeyValue}[^{}]*)`),
  },
  {
    name: 'sorted private JSON web key',
    pattern: new RegExp(source`"[dk]${webKeyValue}(?=(?:(?!"[dk]\\{0,7}")[^{}])*"kty)[^{}]*)`),
  },
];

/** Matches every text that one of these matches. Used in a pattern that ignores case. */
export const privateKeyHint: string = source`-{4,5}\s?(?:begin|end)\s|LS0tLS1CRUdJTi|${btoa('LS0tLS1CRUdJTi'.slice(0, 12))}|(?:2d){5}42|${codesOf('-----B')}|yek\setavirp|MIGHAgEAMBMGByqGSM49|MC4CAQAwBQYDK2Vw|IBADANBgkqhkiG9w|02010030(?:0d06092a|1306072a|0506032b)|<(?:d[pq]?|inverseq|[pq])>|private-lines:|"kty\\{0,7}"`;

/** The members of a JSON web key that are private. */
const privateMembers: ReadonlySet<string> = new Set(['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']);
const isPrivateWebKey = (members: JsonObject): boolean =>
  typeof members['kty'] === 'string' &&
  (typeof members['d'] === 'string' || typeof members['k'] === 'string');

/** Is the member a part of a private JSON web key? */
export const isWebKeyPart = (members: JsonObject, key: string): boolean =>
  privateMembers.has(key) && isPrivateWebKey(members);

/** Texts in which a part of a key was found, by the list or object that holds them and their key in it. */
export type SplitKeys = ReadonlyMap<object, ReadonlyMap<string | number, readonly CharacterSpan[]>>;

const none: SplitKeys = new Map();

type Leaf = { readonly holder: object; readonly key: string | number; readonly text: string };

/**
 * Finds keys whose lines are in different texts. Texts in the same column are joined by line ends: the items of a
 * list, one member of every row, members called `line1`, `line2`.
 */
export function findSplitKeys(value: JsonValue): SplitKeys {
  if (typeof value !== 'object' || !mentionsKey(value)) return none;
  const columns = new Map<string, Leaf[]>();
  collect(value, '', columns);
  const cuts = new Map<object, Map<string | number, CharacterSpan[]>>();
  for (const leaves of columns.values()) if (leaves.length > 1) cutColumn(leaves, cuts);
  return cuts;
}

/** The marker of a key in clear, in base64 or in hexadecimal digits. */
const splitHint = /PRIVATE|LS0tLS1CRUdJTi|TFMwdExTMUNSVWRK|(?:2d){5}42/i;

function mentionsKey(value: JsonValue): boolean {
  if (typeof value === 'string') return splitHint.test(value);
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).some(mentionsKey);
}

function collect(value: JsonValue, column: string, columns: Map<string, Leaf[]>): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value) as [string, JsonValue][]) {
    const inner = `${column}/${name.replaceAll(/\d+/g, '#')}`;
    if (typeof member !== 'string') collect(member, inner, columns);
    else {
      const leaf = { holder: value, key: Array.isArray(value) ? Number(name) : name, text: member };
      const leaves = columns.get(inner);
      if (leaves === undefined) columns.set(inner, [leaf]);
      else leaves.push(leaf);
    }
  }
}

function cutColumn(leaves: readonly Leaf[], cuts: Map<object, Map<string | number, CharacterSpan[]>>): void {
  const joined = leaves.map(({ text }) => text).join('\n');
  const spans = [block, tail, encoded, hexadecimal, lastLineFirst].flatMap((each) => spansOf(each, joined));
  let start = 0;
  for (const { holder, key, text } of leaves) {
    const end = start + text.length;
    const own = spans
      .map(([from, to]): CharacterSpan => [Math.max(from, start) - start, Math.min(to, end) - start])
      .filter(([from, to]) => from < to);
    if (own.length > 0) {
      const ofHolder = cuts.get(holder) ?? new Map<string | number, CharacterSpan[]>();
      cuts.set(holder, ofHolder.set(key, own));
    }
    start = end + 1;
  }
}

function spansOf({ pattern, confirm }: SecretPattern, text: string): CharacterSpan[] {
  return [...text.matchAll(new RegExp(pattern, `dg${pattern.flags}`))].flatMap(({ indices }) => {
    const span = indices?.groups?.['secret'] ?? indices?.[0];
    return span !== undefined && (confirm === undefined || confirm(text.slice(...span))) ? [span] : [];
  });
}

type Row = readonly [whose: string, beginning: string, rest: string];

/** The prefixes are rare in other texts; the rest makes it a token. */
const rows: readonly Row[] = [
  ['DigitalOcean', 'do[opr]_v1_', '[a-f0-9]{64}'],
  ['Shopify', 'shp(?:at|ca|pa|ss)_', '[a-fA-F0-9]{32}'],
  ['Linear', 'lin_(?:api|oauth)_', '[A-Za-z0-9]{32,}'],
  ['Notion', '(?:secret|ntn)_', '[A-Za-z0-9]{40,}'],
  ['Groq', 'gsk_', '[A-Za-z0-9]{40,}'],
  ['Replicate', 'r8_', '[A-Za-z0-9]{36,}'],
  ['Pinecone', 'pcsk_', source`\w{40,}`],
  ['LangSmith', 'lsv2_(?:pt|sk)_', source`\w{30,}`],
  ['Supabase', '(?:sbp|sb_secret)_', source`[\w-]{20,}`],
  ['Hugging Face', 'api_org_', '[A-Za-z0-9]{34}'],
  ['Docker', 'dckr_[po]at_', source`[\w-]{20,}`],
  ['RubyGems', 'rubygems_', '[a-f0-9]{48}'],
  ['Razorpay', 'rzp_(?:live|test)_', '[A-Za-z0-9]{14,}'],
  ['ClickUp', source`pk_\d{5,9}_`, '[A-Z0-9]{32}'],
  ['Buildkite', 'bkua_', '[a-f0-9]{40}'],
  ['Grafana', 'gl(?:sa|c)_', source`[\w=+/]{32,}`],
  ['Sentry', 'sntry[su]_', source`[\w=+/]{40,}`],
  ['Figma', 'figd_', source`[\w-]{40,}`],
  ['Netlify', 'nfp_', '[A-Za-z0-9]{36,}'],
  ['Render', 'rnd_', '[A-Za-z0-9]{28,}'],
  ['Fly', 'fm[12]_', source`[\w+/=-]{100,}`],
  ['PlanetScale', 'pscale_(?:tkn|oauth|pw)_', source`[\w.-]{32,}`],
  ['1Password', 'ops_eyJ', source`[\w-]{100,}`],
  ['Databricks', 'dapi', source`[a-f0-9]{32}(?:-\d)?`],
  ['Vault', source`hv[sbr]\.`, source`[\w-]{20,}`],
  ['Doppler', source`dp\.(?:pt|st|ct|sa|scim|audit)\.`, source`(?:[\w-]{2,35}\.)?[A-Za-z0-9]{40,44}`],
  ['Telegram', source`\d{8,10}:AA`, source`[\w-]{33}`],
  ['Discord', source`[MNO][\w-]{23,27}\.(?=[\w-]{6}\.)`, source`[\w-]{6}\.[\w-]{27,}`],
  ['Terraform', source`[A-Za-z0-9]{14}\.atlasv1\.`, source`[\w=-]{60,}`],
  ['Airtable', source`pat[A-Za-z0-9]{14}\.`, '[a-f0-9]{64}'],
  ['Mapbox', source`sk\.eyJ`, source`[\w-]{20,}\.[\w-]{20,}`],
  ['Dropbox', source`sl\.(?:u\.)?`, source`[\w-]{100,}`],
  ['Azure', source`[\w~.-]{3}\dQ~`, source`[\w~.-]{31,34}`],
  ['Mailgun', 'key-', '[0-9a-f]{32}(?![0-9a-f])'],
  ['Mailchimp', '[0-9a-f]{32}-us', source`\d{1,2}(?!\w)`],
  ['Atlassian', 'AT(?:ATT|CTT|BB)', source`[\w=-]{20,}`],
  ['Twilio', 'SK(?=[0-9a-f]{32})', '[0-9a-f]{32}(?![0-9a-f])'],
  ['age', 'AGE-SECRET-KEY-1', '[0-9A-Z]{50,}'],
  ['AWS session', '(?:FwoGZXIvYXdz|IQoJb3JpZ2lu)', '[A-Za-z0-9+/=]{50,}'],
  ['AWS Bedrock', 'ABSK(?=[A-Za-z0-9+/]{60})', '[A-Za-z0-9+/]{60,}={0,2}'],
  ['AWS access key', 'A(?:BIA|CCA)(?=[A-Z0-9]{16})', '[A-Z0-9]{16}(?![A-Z0-9])'],
  ['xAI', 'xai-', '[A-Za-z0-9]{60,}'],
  ['Perplexity', 'pplx-', '[A-Za-z0-9]{40,}'],
  ['Tavily', 'tvly-', source`[\w-]{28,}`],
  ['Postman', 'PMAK-', '[a-f0-9-]{50,}'],
  ['New Relic', 'NRAK-', '[A-Z0-9]{27}'],
  ['Square', 'sq0(?:atp|csp|idp)-', source`[\w-]{22,}`],
  ['Contentful', 'CFPAT-', source`[\w-]{40,}`],
  ['HubSpot', source`pat-(?:na|eu)\d-`, '[0-9a-f-]{36}'],
  ['Pulumi', 'pul-', '[a-f0-9]{40}'],
  ['Brevo', 'xkeysib-', '[a-f0-9]{64}'],
  ['Slack', 'xoxd-', source`[\w%+/-]{20,}`],
  ['Facebook', 'EAA(?=[A-Za-z0-9]{80})', '[A-Za-z0-9]{80,}'],
  ['NuGet', 'oy2(?=[a-z0-9]{43})', '[a-z0-9]{43}(?![a-z0-9])'],
];

const boundary = '(?<![A-Za-z0-9])';

export const providerTokens: RegExp = new RegExp(
  `${boundary}(?:${rows.map(([, beginning, rest]) => `${beginning}${rest}`).join('|')})`,
);

/** Pattern source that matches every text with such a token. */
export const providerHint: string = `${boundary}(?:${rows.map(([, beginning]) => beginning).join('|')})`;

/**
 * The known forms of secrets. Every pattern must stay nearly linear on hostile text. A part with unbounded repetition
 * cannot begin again inside its own match; everything else is bounded.
 */
export const secretPatterns: readonly SecretPattern[] = [
  ...privateKeyPatterns,
  {
    name: 'AWS access key id',
    pattern: /(?<![A-Z0-9])A[KS]IA[A-Z0-9]{16}(?![A-Z0-9])/,
  },
  {
    name: 'AWS secret access key',
    pattern:
      /(?:A[KS]IA[A-Z0-9]{16}|[Ss][Ee][Cc][Rr][Ee][Tt][_-]?(?:[Aa][Cc][Cc][Ee][Ss][Ss][_-]?)?[Kk][Ee][Yy])[^A-Za-z0-9/+]{1,16}(?<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])/,
  },
  {
    name: 'GitHub token',
    pattern: /gh[pousr]_[\w-]{30,}(?:\.[\w-]+){0,2}|github_pat_\w{22,}/,
  },
  {
    name: 'GitLab token',
    pattern: /gl(?:pat|oas|dt|rt|cbt|ptt|ft|imt|agent|soat|ffct)-[\w-]{20,}(?:\.[\w-]+){0,2}/,
  },
  {
    name: 'Slack token',
    pattern: /xox[abceoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}|xapp-\d-[A-Za-z0-9-]{10,}/,
  },
  {
    name: 'Slack webhook',
    pattern: /hooks\.slack\.com\/(?:services|workflows|triggers)\/(?<secret>[\w/-]{20,})/,
  },
  {
    name: 'Stripe key',
    pattern: /(?:[sr]k_(?:live|test)_|whsec_)[A-Za-z0-9+/]{10,}={0,2}/,
  },
  {
    // OpenAI, Anthropic (sk-ant-) and similar ones. A digit distinguishes a key from a hyphenated phrase.
    name: 'sk- API key',
    pattern: /(?<![A-Za-z0-9])sk-(?=[A-Za-z_-]{0,60}\d)[\w-]{20,}/,
  },
  { name: 'Google API key', pattern: /AIza[\w-]{35}/ },
  {
    name: 'Google OAuth secret',
    pattern: /GOCSPX-[\w-]{20,}|ya29\.[\w-]{20,}|(?<![\w/])1\/\/0[\w-]{40,}/,
  },
  { name: 'npm token', pattern: /npm_[A-Za-z0-9]{36,}/ },
  { name: 'PyPI token', pattern: /pypi-[\w-]{50,}/ },
  { name: 'Hugging Face token', pattern: /(?<![A-Za-z0-9])hf_[A-Za-z0-9]{30,}/ },
  {
    // Our own: of the server, and of decision links.
    name: 'Quittance token',
    pattern: /(?<![A-Za-z0-9])(?:qt_[\w-]{43}(?![\w-])|qdt1\.[\w-]{20,}\.[\w-]{40,})/,
  },
  {
    name: 'SendGrid key',
    pattern: /(?<![\w-])SG\.[\w-]{16,80}\.[\w-]{16,}/,
  },
  {
    // The base64 of `{"`, two or four dots: a JWT, or an encrypted one.
    name: 'JSON web token',
    pattern: /(?<![\w-])eyJ[\w-]{8,}\.[\w-]*\.[\w-]*(?:\.[\w-]*\.[\w-]*)?/,
  },
  {
    name: 'authorization header',
    pattern:
      /[Aa](?:uthorization|UTHORIZATION)\\{0,2}["']?[ \t]{0,4}[:=][ \t]{0,4}\\{0,2}["']?(?:[Bb]earer|BEARER|[Bb]asic|BASIC|[Tt]oken|[Aa]pi-?[Kk]ey|[Dd]igest|[Nn]egotiate)[ \t]+(?<secret>[^\s"'`,;\\<>[({$%*][^\s"'`,;\\]*)/,
  },
  {
    // A word of prose after "bearer" has no digit, no capital and no other sign inside it.
    name: 'bearer token',
    pattern:
      /(?<![\w-])(?:[Bb]earer|BEARER)[ \t]+(?!(?:[Tt]oken|[Aa]uth|[Ss]cheme)s?\b)(?=[A-Za-z._~+/-]{0,63}\d|[A-Z]?[a-z]{1,63}[A-Z]|[A-Za-z]{1,63}[._~+/=-][A-Za-z]|[A-Za-z]{20})(?<secret>[A-Za-z0-9._~+/-]{5,}[A-Za-z0-9_~+/-]={0,2})/,
  },
  {
    name: 'basic credentials',
    pattern: /(?<![\w-])(?:[Bb]asic|BASIC)[ \t]+(?<secret>[A-Za-z0-9+/]{8,}={0,2})/,
    confirm: holdsColon,
  },
  {
    name: 'password in a URL',
    pattern: /:\/\/[^\s/:"'`<>]*:(?!\d{1,5}[/?#])(?<secret>[^\s/"'`<>]+)@/,
  },
  {
    name: 'cookie header',
    pattern: /[Cc]ookie["']?:[ \t]{0,4}["']?(?<secret>[\w.$!%*-]{1,64}=[^\r\n"']*)/,
  },
  ...secretAssignmentPatterns,
  ...markupSecretPatterns,
  { name: 'token of a known provider', pattern: providerTokens },
  {
    name: 'Discord webhook',
    pattern: /discord(?:app)?\.com\/api\/webhooks\/\d{1,30}\/(?<secret>[\w-]{20,})/,
  },
  {
    name: 'card number',
    pattern: /(?<![\w.+-])\d{4}(?:[ -]?\d){9,15}(?!-?\w)/,
    confirm: isCardNumber,
  },
];

/**
 * Matches every text that a pattern above matches, and few others, so one check is enough for most texts. No match is
 * shorter than `shortestSecret`.
 */
export const secretHint: RegExp = new RegExp(
  [
    String.raw`[cfkmoprstu]_[\w+/]{10}`, // ghp_, github_pat_, hf_, npm_, sk_live_, whsec_
    String.raw`[ikstx]-[\w-]{10}`, // glpat-, GOCSPX-, pypi-, sk-
    'xox[abceoprs]|xapp-',
    String.raw`qt_[\w-]{43}|qdt1\.`,
    privateKeyHint,
    String.raw`a[kis][iz]a[\w-]{16}`,
    String.raw`(?:eyj|ya29\.|sg\.|1//0)[\w-]{8}`,
    String.raw`hooks\.slack`,
    String.raw`://[^\s/]*@`,
    String.raw`(?:bearer|basic)[ \t]`,
    String.raw`cookie["']?:`,
    assignmentHint,
    markupHint,
    providerHint,
    String.raw`api/webhooks/`,
    String.raw`\d{4}[ -]?\d{4}[ -]?\d\d[ -]?\d\d[ -]?\d`,
  ].join('|'),
  'i',
);
export const shortestSecret = 6;

/**
 * Basic credentials are the base64 of `user:password`; "Basic JavaScript" is not. Also runs in browsers: no Buffer.
 */
function holdsColon(encoded: string): boolean {
  const digits = encoded.replaceAll('=', '');
  // One extra digit is not a byte, and `atob` would throw.
  return atob(digits.length % 4 === 1 ? digits.slice(0, -1) : digits).includes(':');
}

/** Prefixes and lengths of the card networks: without them one number in ten would match. */
const cardShapes: readonly RegExp[] = [
  /^4(?:\d{12}|\d{15}|\d{18})$/, // Visa
  /^(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}$/, // Mastercard
  /^3[47]\d{13}$/, // American Express
  /^(?:6011|64[4-9]\d|65\d\d)\d{12}$/, // Discover
  /^62\d{14,17}$/, // UnionPay
  /^35(?:2[89]|[3-8]\d)\d{12}$/, // JCB
  /^3(?:0[0-5]|[68]\d)\d{11}$/, // Diners Club
];

function isCardNumber(text: string): boolean {
  const digits = text.replaceAll(/\D/g, '');
  if (!cardShapes.some((shape) => shape.test(digits))) return false;
  let sum = 0;
  for (let index = 0; index < digits.length; index++) {
    const digit = Number(digits[digits.length - 1 - index]);
    const doubled = index % 2 === 0 ? digit : digit * 2;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

/** Texts settle after one pass; more are needed only if a pattern matches what another left. */
const mostPasses = 5;

/** A text that was encoded more often is hidden as a whole. */
const deepestEncoding = 4;

/** Program names are lower case; the hint of patterns ignores case. */
const programHint = new RegExp(commandHint);

/** A checked text is searched to its end at once, so masks can share these. */
const knownFinders = secretPatterns.map(toFinder);

type Finder = { readonly pattern: RegExp; readonly confirm: ((secret: string) => boolean) | undefined };
/** Hides the matches of patterns in a text, and adds them to `found`. */
export type TextMask = (text: string, found?: Set<string>) => string;

/**
 * Creates the function that hides matches of patterns in a text: the built-in patterns if `defaults`, and those in
 * `added`. A command line is read as a shell would read it. Masking a masked text again changes nothing.
 */
export function createTextMask(
  defaults: boolean,
  added: readonly SecretPattern[],
  { isCommand = false }: { readonly isCommand?: boolean } = {},
): TextMask {
  const addedFinders = added.map(toFinder);

  const hasHint = (text: string): boolean =>
    defaults && text.length >= shortestSecret && (secretHint.test(text) || programHint.test(text));

  const findAll = (text: string, depth: number, found: Set<string> | undefined): CharacterSpan[] => {
    const spans: CharacterSpan[] = [];
    for (const finder of addedFinders) findSpans(finder, text, spans);
    if (hasHint(text)) for (const finder of knownFinders) findSpans(finder, text, spans);
    // A hostile text has more secrets than a call takes arguments.
    if (defaults) for (const span of secretsInCommand(text, isCommand && depth === 0)) spans.push(span);
    if (defaults && escapes.test(text)) for (const span of findEncoded(text, depth, found)) spans.push(span);
    if (found !== undefined) for (const span of spans) noteSecret(text, span, found);
    return spans;
  };

  /** Secrets that appear when escapes are decoded. A word with an escape is hidden as a whole, if possible without its name. */
  const findEncoded = (text: string, depth: number, found: Set<string> | undefined): CharacterSpan[] => {
    if (depth > deepestEncoding) return [...wordsOf(text)].flatMap((word) => escapedPart(text, word));
    const isForm = depth === 0 && percentEscape.test(text) && text.includes('+');
    // In a form a plus is a space, in a path it is a plus.
    const spans = (isForm ? [text, text.replaceAll('+', ' ')] : [text])
      .flatMap((read) => {
        const { decoded, toSource } = decode(read);
        return findAll(decoded, depth + 1, found).map(toSource);
      })
      .sort(([left], [right]) => left - right);
    if (spans.length === 0) return spans;
    const words: CharacterSpan[] = [];
    let next = 0;
    for (const word of wordsOf(text)) {
      while (next < spans.length && (spans[next] as CharacterSpan)[1] <= word[0]) next++;
      const [start] = spans[next] ?? [text.length];
      if (start < word[1]) words.push(...escapedPart(text, word));
    }
    return [...spans, ...words];
  };

  const mask = (text: string, found: Set<string> | undefined): string => {
    const isEncoded = defaults && escapes.test(text);
    if (addedFinders.length === 0 && !isEncoded && !hasHint(text) && !(isCommand && defaults)) return text;
    let masked = text;
    for (let pass = 0; pass < mostPasses; pass++) {
      const spans = findAll(masked, 0, found);
      const next = spans.length === 0 ? masked : cutOut(masked, spans);
      if (next === masked) return masked;
      masked = next;
    }
    found?.add(text);
    return redacted;
  };
  return (text, found) => mask(text, found);
}

const percentEscape = /%[0-9A-Fa-f]{2}/;

/** Characters that the escapes of HTML name. */
const namedCharacters: ReadonlyMap<string, string> = new Map(
  'amp & lt < gt > quot " apos \' equals = colon : lowbar _ hyphen - dash - period . sol / plus +'
    .split(/(?<= .) /)
    .map((pair) => pair.split(' ') as [string, string]),
);

/** An escape of URLs, of HTML, or of JSON and program text. A JSON text in a JSON text has more backslashes. */
const escapeSource = String.raw`(?:%[0-9A-Fa-f]{2})+|&(?:#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|${[...namedCharacters.keys()].join('|')});|\\{1,16}(?:u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]{1,6}\}|x[0-9A-Fa-f]{2})`;
const escapes = new RegExp(escapeSource);
const everyEscape = new RegExp(escapeSource, 'g');
/** A part of a URL, a form or a text: `name=value` between separators. */
const formPart = /[^\s"'`<>&?#;,]+/g;

/** The parts of a text between separators. A separator inside an escape does not count. */
function* wordsOf(text: string): Generator<CharacterSpan> {
  const joined = text.replaceAll(everyEscape, (run) => 'x'.repeat(run.length));
  for (const { 0: part, index } of joined.matchAll(formPart)) yield [index, index + part.length];
}

/** The part of a word that is hidden if it has an escape: the value, if the name is plain. */
function escapedPart(text: string, [start, end]: CharacterSpan): CharacterSpan[] {
  const part = text.slice(start, end);
  if (!escapes.test(part)) return [];
  const valueAt = part.indexOf('=') + 1;
  const isNamePlain = !escapes.test(part.slice(0, valueAt));
  return [[start + (isNamePlain ? valueAt : 0), end]];
}

type Decoded = {
  readonly decoded: string;
  /** The place in the source of a span of the decoded text. An escape is never cut. */
  readonly toSource: (span: CharacterSpan) => CharacterSpan;
};

function decode(source: string): Decoded {
  /** The places of the escapes in the source, and of their characters in the decoded text. */
  const found: { readonly from: number; readonly to: number; readonly at: number; readonly end: number }[] =
    [];
  let decoded = '';
  let done = 0;
  for (const { 0: run, index } of source.matchAll(everyEscape)) {
    decoded += source.slice(done, index);
    const at = decoded.length;
    decoded += decodeEscape(run);
    done = index + run.length;
    found.push({ from: index, to: done, at, end: decoded.length });
  }
  decoded += source.slice(done);
  const placeOf = (place: number, isEnd: boolean): number => {
    let low = 0;
    let high = found.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((found[middle]?.at ?? 0) < place || (!isEnd && found[middle]?.at === place)) low = middle + 1;
      else high = middle;
    }
    const last = found[low - 1];
    if (last === undefined) return place;
    if (place >= last.end) return last.to + place - last.end;
    return isEnd ? last.to : last.from;
  };
  return { decoded, toSource: ([start, end]) => [placeOf(start, false), placeOf(end, true)] };
}

function decodeEscape(run: string): string {
  if (run.startsWith('%')) return decodeRun(run);
  if (run.startsWith('&') && run[1] !== '#') return namedCharacters.get(run.slice(1, -1)) ?? '\uFFFD';
  const digits = /[0-9A-Fa-f]+(?=[;}]?$)/.exec(run)?.[0] ?? '';
  const code = Number.parseInt(digits, /^&#\d/.test(run) ? 10 : 16);
  return code <= 0x10_ff_ff ? String.fromCodePoint(code) : '\uFFFD';
}

function decodeRun(run: string): string {
  try {
    return decodeURIComponent(run);
  } catch {
    return String.fromCharCode(
      ...(run.match(/[0-9A-Fa-f]{2}/g) ?? []).map((hex) => Number.parseInt(hex, 16)),
    );
  }
}

/** A later pass may find a secret around an earlier mask; the mask is not part of it. */
function noteSecret(text: string, [start, end]: CharacterSpan, found: Set<string>): void {
  for (const part of text.slice(start, end).split(redacted)) if (part !== '') found.add(part);
}

/** A copy, because a host's pattern may be sticky, or in use elsewhere with its own position. */
function toFinder({ pattern, confirm }: SecretPattern): Finder {
  const flags = new Set(pattern.flags).add('g');
  flags.delete('y');
  if (pattern.source.includes('(?<secret>')) flags.add('d');
  return { pattern: new RegExp(pattern.source, [...flags].join('')), confirm };
}

function findSpans({ pattern, confirm }: Finder, text: string, spans: CharacterSpan[]): void {
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const [start, end] = match.indices?.groups?.['secret'] ?? [match.index, match.index + match[0].length];
    const isConfirmed = confirm === undefined || confirm(text.slice(start, end));
    if (isConfirmed && start < end) spans.push([start, end]);
    if (!isConfirmed || match[0] === '') pattern.lastIndex = match.index + 1;
  }
}

/** Replaces the spans. A span that touches an earlier mask covers all of it, so that no half is left. */
export function cutOut(text: string, spans: CharacterSpan[]): string {
  for (let at = text.indexOf(redacted); at !== -1; at = text.indexOf(redacted, at + redacted.length))
    spans.push([at, at + redacted.length]);
  spans.sort(([left], [right]) => left - right);
  let result = '';
  let done = 0;
  for (const [start, end] of spans) {
    if (start >= done) result += text.slice(done, start) + redacted;
    done = Math.max(done, end);
  }
  return result + text.slice(done);
}
