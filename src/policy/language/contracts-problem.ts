import { QuittanceError } from '../../base/error.ts';

/** One thing wrong with a document. */
export type ContractsProblem = {
  /** The document's file name, or the name it was given. */
  readonly source: string;
  /** From 1. Undefined where the document did not come as text. */
  readonly line: number | undefined;
  readonly column: number | undefined;
  /** The field in words of the document, e.g. `rules[2].then.message`. Empty for the document itself. */
  readonly field: string;
  /** A sentence: what was found, what was expected. Names the field's last word. */
  readonly message: string;
};

/** Thrown with every problem at once. */
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
