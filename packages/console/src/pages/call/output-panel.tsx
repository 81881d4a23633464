import type { ReactNode } from 'react';
import type { CallDetail } from '@quittance/server/internal/http/api/call';
import { maskedValue } from '../../ui/masked-value.ts';
import { ForeignText } from '../../ui/foreign-text.tsx';
import { ValueViewer } from '../../viewer/value-viewer.tsx';
import { ArtifactPieces } from './artifact-pieces.tsx';

/** The output of the tool, as stored. Large outputs and files are read on request. */
export function OutputPanel({ detail: { call } }: { readonly detail: CallDetail }): ReactNode {
  if (call.settled === undefined) return <p className="muted">No output yet: the call has no outcome.</p>;
  const { outcome } = call.settled;
  const files = 'files' in outcome ? (outcome.files ?? []) : [];
  return (
    <div className="model-content">
      {outcome.type === 'ToolExecutionResult' && (
        <ValueViewer label="Output" value={maskedValue(outcome.output)} />
      )}
      {outcome.type === 'ToolFailure' && (
        <p>
          <ForeignText text={outcome.error} />
        </p>
      )}
      {(outcome.type === 'ToolDenied' || outcome.type === 'ToolTimeout') && (
        <p className="muted">
          No output: {outcome.type === 'ToolDenied' ? 'the call was denied.' : 'the call timed out.'}
        </p>
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
          mimeType={file.mimeType}
        />
      ))}
    </div>
  );
}
