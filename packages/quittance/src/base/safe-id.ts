/**
 * Displays ids. The ledger stores an id unchanged, or no call could be found by it. If it looks like a secret, people
 * see a mask and a short number that distinguishes it from others. Commands accept that form too.
 */
import { safeText } from './safe-text.ts';
import { createTextMask } from './text-mask.ts';
import { redacted } from './secret-pattern.ts';

const maskText = createTextMask(true, []);

/** The redaction of a runtime, which may hide more than the built-in patterns do. */
export type MoreSecrets = { text(text: string): string };

const noMore: MoreSecrets = { text: (text) => text };

/** The id as people see it: `[REDACTED]~1a2b3c` if it looks like a secret. */
export const shownId = (id: string): string => shownIdBy(noMore, id);
export const shownIdBy = (more: MoreSecrets, id: string): string =>
  looksSecretBy(more, id) ? hiddenId(id) : id;

/** The mask of an id that must not be shown. */
export const hiddenId = (id: string): string => `${redacted}~${shortHash(id)}`;

/** The same on one line, with hidden characters escaped: for places that show plain text. */
export const safeId = (id: string): string => safeText(shownId(id));
export const safeIdBy = (more: MoreSecrets, id: string): string => safeText(shownIdBy(more, id));

/** Is an id shown by its number instead? */
export const looksSecret = (id: string): boolean => maskText(id) !== id;
export const looksSecretBy = (more: MoreSecrets, id: string): boolean =>
  looksSecret(id) || more.text(id) !== id;

/** Is `shown` the displayed form of this id? */
export const isShownAs = (id: string, shown: string): boolean =>
  shown.includes('~') && shown.endsWith(`~${shortHash(id)}`) && looksSecret(id);

/** A sentence that may contain such ids, such as the message of an error. */
export const safeSentence = (text: string): string => maskText(text);
export const safeSentenceBy = (more: MoreSecrets, text: string): string => more.text(maskText(text));

/** The same on one line, with hidden characters escaped: for places that show plain text. */
export const safeWords = (text: string): string => safeText(maskText(text));

/** 24 bits: enough to tell ids apart, too few to reveal the id. */
function shortHash(text: string): string {
  let hash = 0x81_1c_9d_c5;
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01_00_01_93) >>> 0;
  return ((hash ^ (hash >>> 24)) & 0xff_ff_ff).toString(16).padStart(6, '0');
}
