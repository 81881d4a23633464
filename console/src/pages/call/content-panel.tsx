import type { ReactNode } from 'react';
import type { CallDetail } from '../../../../src/http/api/call.ts';
import type { JsonValue } from '../../../../src/base/json.ts';
import { CopyButton } from '../../ui/copy-button.tsx';
import { ArtifactPieces } from './artifact-pieces.tsx';
import { ValueBlock } from '../../ui/value-block.tsx';
import { ForeignText } from '../../ui/foreign-text.tsx';
import { maskedValue } from '../../ui/masked-value.ts';

/** The content sent to the model, part by part: the same bytes as in the ledger. */
export function ContentPanel({ detail: { content, call } }: { readonly detail: CallDetail }): ReactNode {
  if (content === undefined || call.settled === undefined)
    return <p className="muted">No content yet: the call has no outcome.</p>;
  const { outcome } = call.settled;
  const files = 'files' in outcome ? (outcome.files ?? []) : [];
  return (
    <div className="model-content">
      {content.map((part, index) =>
        part.type === 'text' ? (
          <div key={index} className="model-content-part">
            <ValueBlock label={`Model content, part ${index + 1}`} value={maskedValue(readable(part.text))} />
            <CopyButton text={part.text} label={`Copy part ${index + 1} as sent`} />
          </div>
        ) : (
          <p key={index}>
            File,{' '}
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
          name="Full output"
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

/** Parsed JSON, or the text as it is. */
function readable(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue; // JSON.parse returns JSON.
  } catch {
    return text;
  }
}
