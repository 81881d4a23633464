/**
 * Texts and numbers with constraints. TypeScript cannot express these constraints, so JSDoc tags state them, and
 * `npm run docs` writes them into the schemas that requests are checked with.
 */

/** @integer */
export type Integer = number;

/** @integer @minimum 1 */
export type PositiveInteger = number;

/**
 * Milliseconds since 1970.
 * @minimum 0
 */
export type Timestamp = number;

/**
 * The id of a resource with a URL: `.` and `..` would be read as path segments.
 * @minLength 1
 * @maxLength 1000
 * @pattern ^(?!\.{1,2}$)
 */
export type ResourceId = string;

/**
 * A name that the ledger stores. Invisible characters could make two names look the same.
 * @minLength 1
 * @maxLength limits.nameChars
 * @pattern ^[^\x00-\x1f\x7f-\x9f\ud800-\udfff]+$
 */
export type PersonName = string;

/**
 * A name that the ledger stores. Invisible characters could make two names look the same.
 * @minLength 1
 * @maxLength limits.workerChars
 * @pattern ^[^\x00-\x1f\x7f-\x9f\ud800-\udfff]+$
 */
export type WorkerName = string;

/**
 * Chosen by the client, unique per request.
 * @minLength 1
 * @maxLength limits.requestIdChars
 */
export type RequestId = string;

/** @maxLength limits.shortReasonChars */
export type ShortReason = string;

/** @maxLength limits.reasonChars */
export type ReasonText = string;

/** @maxLength limits.searchChars */
export type SearchText = string;
