/**
 * The forms of secrets in a text. Every pattern must stay nearly linear on hostile text. A part with unbounded
 * repetition cannot begin again inside its own match; everything else is bounded.
 */
import { markupHint, markupSecretPatterns } from './markup-secrets.ts';
import { privateKeyHint, privateKeyPatterns } from './private-keys.ts';
import { providerHint, providerTokens } from './provider-tokens.ts';
import { assignmentHint, secretAssignmentPatterns } from './secret-assignments.ts';
import type { SecretPattern } from './secret-pattern.ts';

/** The known forms of secrets. */
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
