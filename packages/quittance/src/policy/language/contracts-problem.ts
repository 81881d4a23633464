import { QuittanceError } from '../../base/error.ts';

/** One problem in a document. */
export type ContractsProblem = {
  /** The document's file name, or the name it was given. */
  readonly source: string;
  /** From 1. Undefined if the document did not come as text. */
  readonly line: number | undefined;
  readonly column: number | undefined;
  /** Path of the field in the document, e.g. `rules[2].then.message`. Empty for the document itself. */
  readonly field: string;
  /** A sentence that says what was found and what was expected. It names the last word of the field. */
  readonly message: string;
};

/** Creates an error that lists every problem at once. */
export function contractsError(problems: readonly ContractsProblem[]): QuittanceError {
  const lines = problems.map(({ source, line, column, field, message }) => {
    const place = line === undefined ? source : `${source}:${line}:${column ?? 1}`;
    return `${place}${field === '' ? '' : ` ${field}`}: ${message}`;
  });
  const heading =
    problems.length === 1
      ? 'These contracts have a problem'
      : `These contracts have ${problems.length} problems`;
  return new QuittanceError('contracts.invalid', `${heading}:\n${lines.join('\n')}`, {
    problems: JSON.stringify(problems),
  });
}
