import type { ReactNode } from 'react';
import { safeWords } from 'quittance/internal/base/safe-id';
import type { ContractsCheck } from '@quittance/server/internal/http/api/contract';
import { baseName } from '../../ui/base-name.ts';
import { ForeignText } from '../../ui/foreign-text.tsx';

type Props = {
  readonly check: ContractsCheck;
  /** Jumps to a line of a document. */
  readonly onGo?: (source: string, line: number, column: number | undefined) => void;
};

/** Errors in the documents, and valid but probably unintended rules. */
export function CheckList({ check: { problems, warnings }, onGo }: Props): ReactNode {
  const place = (source: string | undefined, line: number | undefined, column?: number): ReactNode => {
    if (source === undefined) return null;
    const text = `${baseName(source)}${line === undefined ? '' : `:${line}${column === undefined ? '' : `:${column}`}`}`;
    return onGo === undefined || line === undefined ? (
      <code title={safeWords(source)}>
        <ForeignText text={text} />
      </code>
    ) : (
      <button
        type="button"
        className="ghost go"
        title={safeWords(source)}
        onClick={() => onGo(source, line, column)}
      >
        <code>
          <ForeignText text={text} />
        </code>
      </button>
    );
  };
  if (problems.length + warnings.length === 0) return null;
  return (
    <ul className="check-list">
      {problems.map(({ source, line, column, field, message }, index) => (
        <li key={`problem ${index}`} data-tone="bad">
          <span className="badge" data-tone="bad">
            problem
          </span>
          <div>
            {place(source, line, column)}{' '}
            {field !== '' && (
              <code className="muted">
                <ForeignText text={field} />
              </code>
            )}
            <p>
              <ForeignText text={message} />
            </p>
          </div>
        </li>
      ))}
      {warnings.map(({ source, line, ruleId, message, advice }, index) => (
        <li key={`warning ${index}`} data-tone="attention">
          <span className="badge" data-tone="attention">
            warning
          </span>
          <div>
            {place(source, line)}{' '}
            {ruleId !== undefined && (
              <code className="muted">
                <ForeignText text={ruleId} />
              </code>
            )}
            <p>
              <ForeignText text={message} />{' '}
              <span className="muted">
                <ForeignText text={advice} />
              </span>
            </p>
          </div>
        </li>
      ))}
    </ul>
  );
}
