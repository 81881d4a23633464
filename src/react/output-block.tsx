import type { ReactNode } from 'react';
import { ShownId, ShownText } from './shown-text.tsx';
import { userMessageOf } from '../call/outcome.ts';
import type { ToolCallView } from '../view/tool-call-view.ts';
import { CodeBlock, JsonBlock } from './code-block.tsx';
import { Disclosure } from './disclosure.tsx';

/** The output of a call. */
export function OutputBlock({ call: { outcome } }: { readonly call: ToolCallView }): ReactNode {
  switch (outcome?.type) {
    case undefined:
      return null;
    case 'ToolExecutionResult':
      return (
        <Disclosure title="Output">
          {typeof outcome.output === 'string' ? (
            <CodeBlock label="Output" text={outcome.output} />
          ) : (
            <JsonBlock label="Output" value={outcome.output} />
          )}
          <Files files={outcome.files} />
        </Disclosure>
      );
    case 'ToolArtifactReference':
      return (
        <Disclosure title={`Large output (${size(outcome.sizeBytes)})`}>
          <CodeBlock label="Beginning of the output" text={outcome.summary} />
          <p className="qt-note">
            Artifact{' '}
            <code>
              <ShownId id={outcome.artifactId} />
            </code>
          </p>
          <Files files={outcome.files} />
        </Disclosure>
      );
    case 'ToolFailure':
      // The card shows the tool's message for the user. This block shows its error for the developer.
      return userMessageOf(outcome) === undefined ? null : (
        <Disclosure title="Error">
          <CodeBlock label="Error" text={outcome.error} />
        </Disclosure>
      );
    case 'ToolTimeout':
    case 'ToolDenied':
      return null;
  }
}

function Files({
  files = [],
}: {
  readonly files?:
    | readonly { artifactId: string; mimeType: string; sizeBytes: number; name?: string }[]
    | undefined;
}): ReactNode {
  if (files.length === 0) return null;
  return (
    <ul className="qt-files">
      {files.map(({ artifactId, mimeType, sizeBytes, name }) => (
        <li key={artifactId}>
          <ShownText text={name ?? artifactId} />{' '}
          <span className="qt-note">
            <ShownText text={mimeType} />, {size(sizeBytes)}
          </span>
        </li>
      ))}
    </ul>
  );
}

const size = (bytes: number): string =>
  bytes < 1_000
    ? `${bytes} B`
    : bytes < 1_000_000
      ? `${(bytes / 1_000).toFixed(1)} kB`
      : `${(bytes / 1_000_000).toFixed(1)} MB`;
