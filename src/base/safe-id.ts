/**
 * How ids are shown. An id is an address: the ledger keeps it as it came, or no call could be found by it. Where it
 * looks like a secret, people see a mask and a short number that tells it from others; commands take that form too.
 */
import { safeText } from './safe-text.ts';
import { createTextMask, redacted } from './text-mask.ts';

const maskText = createTextMask(true, []);

/** The id as people see it: `[REDACTED]~1a2b3c` where it looks like a secret. */
export const shownId = (id: string): string => (looksSecret(id) ? `${redacted}~${shortHash(id)}` : id);

/** The same on one line, with hidden characters written out: for places that draw plain text. */
export const safeId = (id: string): string => safeText(shownId(id));

/** Whether an id is shown by its number instead. */
export const looksSecret = (id: string): boolean => maskText(id) !== id;

/** Whether somebody who typed `shown` saw this id. */
export const isShownAs = (id: string, shown: string): boolean =>
  shown.includes('~') && shown.endsWith(`~${shortHash(id)}`) && looksSecret(id);

/** A sentence that may hold such ids, such as the message of an error. */
export const safeSentence = (text: string): string => maskText(text);

/** The same on one line, with hidden characters written out: for places that draw plain text. */
export const safeWords = (text: string): string => safeText(maskText(text));

/** 24 bits: enough to tell ids apart, too few to find out what an id was. */
function shortHash(text: string): string {
  let hash = 0x81_1c_9d_c5;
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01_00_01_93) >>> 0;
  return ((hash ^ (hash >>> 24)) & 0xff_ff_ff).toString(16).padStart(6, '0');
}
