import type { ReactNode } from 'react';
import type {
  ComparedCall,
  ComparedSide,
  ComparedValue,
  SessionComparison,
} from '@quittance/server/internal/http/api/session';
import { addressOf } from '../../route.ts';
import { ForeignId, ForeignText } from '../../ui/foreign-text.tsx';
import { Link } from '../../ui/link.tsx';
import { differenceField, differenceWord } from 'quittance/internal/view/difference-words';
import { OutcomeBadge } from '../../ui/outcome-badge.tsx';

type Sessions = Pick<SessionComparison, 'a' | 'b'>;

/** One call that differs: both ends, and each difference with both values. */
export function ComparedCallCard({
  call,
  comparison,
}: {
  readonly call: ComparedCall;
  readonly comparison: Sessions;
}): ReactNode {
  const { toolName, a, b, differences, moreDifferences } = call;
  return (
    <article className="card compared-call">
      <header>
        <h3>
          <ForeignId id={toolName} />
        </h3>
        <span className="muted">{statusWords[call.status]}</span>
      </header>
      <div className="compared-sides">
        <Side side={a} sessionId={comparison.a.sessionId} label="First" />
        <Side side={b} sessionId={comparison.b.sessionId} label="Second" />
      </div>
      <ComparedValues values={differences} />
      {moreDifferences > 0 && (
        <p className="muted more">{moreDifferences.toLocaleString()} more differences in this call.</p>
      )}
    </article>
  );
}

const statusWords: { readonly [Status in ComparedCall['status']]: string } = {
  changed: 'in both sessions',
  only_a: 'only in the first session',
  only_b: 'only in the second session',
};

function Side({
  side,
  sessionId,
  label,
}: {
  readonly side: ComparedSide | undefined;
  readonly sessionId: string;
  readonly label: string;
}): ReactNode {
  if (side === undefined)
    return (
      <div className="compared-side">
        <span className="muted">{label}: not made</span>
      </div>
    );
  const { callId, outcome, code, input } = side;
  return (
    <div className="compared-side">
      <span className="hidden">{label}: </span>
      <OutcomeBadge
        call={{ outcome, code, status: outcome === undefined ? 'running' : 'settled', unresolved: false }}
      />{' '}
      <Link to={addressOf(['calls', sessionId, callId])}>
        <ForeignId id={callId} />
      </Link>
      <code className="compared-input">
        <ForeignText text={input} />
      </code>
    </div>
  );
}

/** Field by field, the value of the first session above or left of that of the second. */
export function ComparedValues({ values }: { readonly values: readonly ComparedValue[] }): ReactNode {
  if (values.length === 0) return null;
  return (
    <dl className="compared-values">
      {values.map(({ field, path, a, b }) => (
        <div key={`${field} ${path}`}>
          <dt>
            {fieldWords(field)}
            {path !== '$' && (
              <>
                {' '}
                <code>
                  <ForeignText text={path} />
                </code>
              </>
            )}
          </dt>
          <Value text={valueWords(field, a)} sign="−" />
          <Value text={valueWords(field, b)} sign="+" />
        </div>
      ))}
    </dl>
  );
}

const Value = ({
  text,
  sign,
}: {
  readonly text: string | undefined;
  readonly sign: '−' | '+';
}): ReactNode => (
  <dd data-side={sign === '+' ? 'b' : 'a'}>
    <span aria-hidden="true">{sign}</span>
    <span className="hidden">{sign === '+' ? 'Second: ' : 'First: '}</span>
    {text === undefined ? (
      <span className="muted">nothing</span>
    ) : (
      <code>
        <ForeignText text={withoutEscapes(text)} />
      </code>
    )}
  </dd>
);

/** A long text in quotes, such as JSON inside a text, is easier to read as it is. */
function withoutEscapes(text: string): string {
  if (!text.startsWith('"') || !text.includes('\\"')) return text;
  try {
    return String(JSON.parse(text));
  } catch {
    return text; // it was cut
  }
}

/** The words of the product for an outcome; other values as they are. */
function valueWords(field: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  try {
    return differenceWord(field, JSON.parse(text)) ?? text;
  } catch {
    return text; // it was cut
  }
}

const fieldWords = (field: string): string => {
  const words = differenceField(field);
  return words.charAt(0).toUpperCase() + words.slice(1);
};
