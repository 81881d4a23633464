import type { ReactNode } from 'react';
import type { CallDetail } from '../../../../src/http/api/call.ts';
import type { JsonValue } from '../../../../src/base/json.ts';
import { CopyButton } from '../../ui/copy-button.tsx';
import { ArtifactPieces } from './artifact-pieces.tsx';
import { ValueBlock } from '../../ui/value-block.tsx';
import { ForeignText } from '../../ui/foreign-text.tsx';
import { maskedValue } from '../../ui/masked-value.ts';

/** What the model was told, part by part: the same bytes the ledger holds. */
export function ContentPanel({ detail: { content, call } }: { readonly detail: CallDetail }): ReactNode {
  if (content === undefined || call.settled === undefined)
    return <p className="muted">Nothing yet: the call has no outcome.</p>;
  const { outcome } = call.settled;
  const files = 'files' in outcome ? (outcome.files ?? []) : [];
  return (
    <div className="told">
      {content.map((part, index) =>
        part.type === 'text' ? (
          <div key={index} className="told-part">
            <ValueBlock
              label={`Part ${index + 1} of what the model was told`}
              value={maskedValue(readable(part.text))}
            />
            <CopyButton text={part.text} label={`Copy part ${index + 1} as it was told`} />
          </div>
        ) : (
          <p key={index}>
            A file,{' '}
            <code>
              <ForeignText text={part.mimeType} />
            </code>
          </p>
        ),
      )}
      {outcome.type === 'ToolArtifactReference' && (
        <ArtifactPieces
          sessionId={call.sessionId}
          artifactId={outcome.artifactId}
          sizeBytes={outcome.sizeBytes}
          name="The whole output"
        />
      )}
      {files.map((file) => (
        <ArtifactPieces
          key={file.artifactId}
          sessionId={call.sessionId}
          artifactId={file.artifactId}
          sizeBytes={file.sizeBytes}
          name={file.name ?? file.mimeType}
        />
      ))}
    </div>
  );
}

/** JSON in lines for people; anything else as it is. */
function readable(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue; // what JSON.parse gives is JSON
  } catch {
    return text;
  }
}
