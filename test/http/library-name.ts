/**
 * Matches a function, a method or an option of the library in a message. It is useless to a client that has
 * only HTTP.
 */
export const libraryName: RegExp =
  /\b(?:runtime|turn|context|ledger|engine)\.(?!jsonl|db)[a-z]\w*(?=\W|$)(?!_)|\b(?:create|define|open|govern|contractsFrom)[A-Z]\w*|\b(?:mayDecide|mayGrant|separateDuties|onConfirm|treatments|undoWithinMs)\b/;
