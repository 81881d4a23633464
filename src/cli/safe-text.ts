/** What the command line shows of texts that are not its own: see there. */
export { fromSafeText, safeJson, safeLines, safeText } from '../base/safe-text.ts';
export { isShownAs, safeId, safeSentence } from '../base/safe-id.ts';
