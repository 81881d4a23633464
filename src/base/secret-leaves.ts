/** The values inside a hidden value, each of which reveals it. */
import { readInnerJson } from './inner-json.ts';
import type { JsonValue } from './json.ts';
import { isJsonObject } from './json.ts';
import type { TextMask } from './text-mask.ts';

/** Adds the texts and numbers in a hidden value to `found`, and the secrets inside those texts. */
export function collectSecretLeaves(value: JsonValue, maskText: TextMask, found: Set<string>): void {
  if (typeof value === 'string') addText(value, maskText, found);
  else if (typeof value === 'number') found.add(String(value));
  else if (Array.isArray(value))
    for (const item of value as readonly JsonValue[]) collectSecretLeaves(item, maskText, found);
  else if (isJsonObject(value))
    for (const item of Object.values(value)) collectSecretLeaves(item, maskText, found);
}

const scheme = /^\s*(?:bearer|basic|token|apikey|api-key|digest|negotiate|ssws|bot|sso-key|key)\s+(\S.*)$/is;
const cookie = /(?:^|[;,])\s*[\w.$!%*-]{1,64}=([^;,]+)/g;
/** Longer texts are files: secrets inside them are found only by their form. */
const longestPart = 65_536;
/** A shorter one is a setting: `theme=dark`. */
const shortestPart = 8;

function addText(text: string, maskText: TextMask, found: Set<string>): void {
  found.add(text);
  maskText(text, found);
  if (text.length <= longestPart && /^\s*[[{]/.test(text)) addJson(text, maskText, found);
}

/** Adds the parts of every secret in `found` that are also secrets. */
export function addParts(found: Set<string>): void {
  // Parts are added during this loop and are examined too: each is shorter than its whole.
  for (const secret of found) if (secret.length <= longestPart) addPartsOf(secret, found);
}

function addPartsOf(text: string, found: Set<string>): void {
  const trimmed = text.trim();
  if (trimmed !== text) found.add(trimmed);
  const credentials = scheme.exec(text)?.[1]?.trim();
  if (credentials !== undefined) {
    found.add(credentials);
    addBasic(credentials, found);
  } else addBasic(text, found);
  for (const [, value = ''] of text.matchAll(cookie))
    if (value.trim().length >= shortestPart) found.add(value.trim());
}

/** Basic credentials reveal the password to everyone who can decode base64. */
function addBasic(credentials: string, found: Set<string>): void {
  if (!/^[A-Za-z0-9+/_-]{4,}={0,2}$/.test(credentials)) return;
  const pair = Buffer.from(credentials, 'base64').toString();
  const colon = pair.indexOf(':');
  if (colon === -1 || pair.includes('\uFFFD')) return;
  found.add(pair);
  found.add(pair.slice(colon + 1));
}

function addJson(text: string, maskText: TextMask, found: Set<string>): void {
  const value = readInnerJson(text);
  if (typeof value === 'object' && typeof value.json === 'object')
    collectSecretLeaves(value.json, maskText, found);
}
