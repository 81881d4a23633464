import type { ReactNode } from 'react';
import { useState } from 'react';
import { CodeBlock } from '../../../../src/react/code-block.tsx';
import { safeWords } from '../../../../src/base/safe-id.ts';
import { pathOf } from '../../api/client.ts';
import { pageKeyHeaders } from '../../api/page-key.ts';
import { DownloadButton } from '../../ui/download-button.tsx';
import { ForeignId, ForeignText } from '../../ui/foreign-text.tsx';

const pieceBytes = 16_384;

type Props = {
  readonly sessionId: string;
  readonly artifactId: string;
  readonly sizeBytes: number;
  readonly name: string;
};

/** A large output or a file, read in pieces: it may be larger than a page can hold. */
export function ArtifactPieces({ sessionId, artifactId, sizeBytes, name }: Props): ReactNode {
  const path = pathOf('sessions', sessionId, 'artifacts', artifactId);
  const [state, setState] = useState<{
    readonly text: string;
    readonly bytes: number;
    readonly status: 'ready' | 'reading' | 'end';
    readonly problem: string | undefined;
  }>({ text: '', bytes: 0, status: 'ready', problem: undefined });
  const read = async (): Promise<void> => {
    setState((before) => ({ ...before, status: 'reading', problem: undefined }));
    try {
      const { bytes } = state;
      const answer = await fetch(path, {
        credentials: 'same-origin',
        headers: { range: `bytes=${bytes}-${bytes + pieceBytes - 1}`, ...pageKeyHeaders() },
      });
      if (!answer.ok) throw new Error(`The server responded with status ${answer.status}.`);
      const piece = await answer.arrayBuffer();
      const isAll = answer.status === 200 || piece.byteLength < pieceBytes;
      setState((before) => ({
        text: before.text + new TextDecoder().decode(piece),
        bytes: before.bytes + piece.byteLength,
        status: isAll || before.bytes + piece.byteLength >= sizeBytes ? 'end' : 'ready',
        problem: undefined,
      }));
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      setState((before) => ({ ...before, status: 'ready', problem }));
    }
  };
  return (
    <div className="artifact">
      <p>
        <ForeignText text={name} />, {sizeBytes.toLocaleString()} bytes, stored as{' '}
        <code>
          <ForeignId id={artifactId} />
        </code>
      </p>
      {state.text !== '' && (
        <div className="qt-card plain">
          <CodeBlock label={`${safeWords(name)}: first ${state.bytes} bytes`} text={state.text} isWhole />
        </div>
      )}
      <div className="actions">
        {state.status !== 'end' && (
          <button type="button" disabled={state.status === 'reading'} onClick={() => void read()}>
            {state.bytes === 0 ? 'Show' : 'Show more'}
          </button>
        )}
        <DownloadButton path={path}>Download</DownloadButton>
      </div>
      {state.problem !== undefined && <p role="alert">{state.problem}</p>}
    </div>
  );
}
