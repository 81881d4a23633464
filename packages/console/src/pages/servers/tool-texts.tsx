/** The texts of a listed tool, and their differences. The server wrote them: they are shown and marked, never obeyed. */
import type { ReactNode } from 'react';
import type { JsonObject, JsonValue } from 'quittance/internal/base/json';
import type { McpToolAnswer } from '@quittance/server/internal/http/api/mcp';
import { prettyJson } from 'quittance/internal/view/pretty-json';
import { TextDiff } from '../../ui/text-diff.tsx';
import { ValueBlock } from '../../ui/value-block.tsx';
import { Ago } from '../../ui/ago.tsx';
import { ForeignText } from '../../ui/foreign-text.tsx';

const parts = [
  ['title', 'Title'],
  ['description', 'Description'],
  ['annotations', 'Annotations'],
  ['inputSchema', 'Input schema'],
  ['outputSchema', 'Output schema'],
] as const;

/** A diff of longer texts would be slow, and too long to read. */
const longestDiff = 200_000;

export function ToolTexts({
  listed,
  trusted,
}: {
  readonly listed: JsonObject;
  readonly trusted: boolean;
}): ReactNode {
  return (
    <section className="card" aria-labelledby="texts">
      <header>
        <h2 id="texts">What the model reads</h2>
      </header>
      <div className="body">
        {listed['description'] === undefined && <p className="muted">The tool has no description.</p>}
        {parts.map(([key, label]) => {
          const value = listed[key];
          return (
            value !== undefined && (
              <div key={key} className="tool-text">
                <h3>{label}</h3>
                {key === 'annotations' && (
                  <p className="muted">
                    {trusted
                      ? 'The server is trusted, so these may lower the risk of the tool.'
                      : 'The server is not trusted, so these can only raise the risk of the tool.'}
                  </p>
                )}
                <ValueBlock label={label} value={value} />
              </div>
            )
          );
        })}
      </div>
    </section>
  );
}

/** The differences from the tool that a person answered about. */
export function ToolDiff({
  changed,
  before,
  after,
  answer,
}: {
  readonly changed: 'tool' | 'server';
  readonly before: JsonObject | undefined;
  readonly after: JsonObject;
  readonly answer: McpToolAnswer | undefined;
}): ReactNode {
  return (
    <section className="card warning-card" data-tone="bad" aria-labelledby="changes-since">
      <header>
        <h2 id="changes-since">
          {changed === 'tool' ? 'Changed since it was approved' : 'Offered by another server'}
        </h2>
        <span className="muted">
          {answer === undefined ? (
            'answered by the configuration'
          ) : (
            <>
              answered by <ForeignText text={answer.by} />, <Ago at={answer.at} />
            </>
          )}
        </span>
      </header>
      <div className="body">
        <p>
          {changed === 'tool'
            ? 'Calls of this tool are held. Clients still see the approved texts.'
            : 'A person answered about a tool of this name at another address. Calls of this tool are held.'}
        </p>
        {before !== undefined &&
          parts.map(([key, label]) => (
            <PartDiff key={key} label={label} before={before[key]} after={after[key]} />
          ))}
      </div>
    </section>
  );
}

function PartDiff({
  label,
  before,
  after,
}: {
  readonly label: string;
  readonly before: JsonValue | undefined;
  readonly after: JsonValue | undefined;
}): ReactNode {
  const [old, now] = [toText(before), toText(after)];
  if (old === now && typeof before === typeof after) return null;
  if (old.length + now.length <= longestDiff) return <TextDiff name={label} before={old} after={now} />;
  return (
    <div className="tool-text">
      <h3>{label}</h3>
      <p className="muted">These texts are too long to compare line by line.</p>
      <ValueBlock label={`${label}, approved`} value={old} />
      <ValueBlock label={`${label}, now`} value={now} />
    </div>
  );
}

const toText = (value: JsonValue | undefined): string =>
  value === undefined ? '' : typeof value === 'string' ? value : prettyJson(value);
