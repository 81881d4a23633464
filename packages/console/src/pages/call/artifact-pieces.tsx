import type { ReactNode } from 'react';
import { useMemo, useRef, useState } from 'react';
import type { JsonValue } from 'quittance/internal/base/json';
import { CodeBlock } from '@quittance/react/src/code-block.tsx';
import { safeWords } from 'quittance/internal/base/safe-id';
import { pathOf } from '../../api/client.ts';
import { pageKeyHeaders } from '../../api/page-key.ts';
import { DownloadButton } from '../../ui/download-button.tsx';
import { ForeignId, ForeignText } from '../../ui/foreign-text.tsx';
import { ValueViewer } from '../../viewer/value-viewer.tsx';

const pieceBytes = 16_384;

type Props = {
  readonly sessionId: string;
  readonly artifactId: string;
  readonly sizeBytes: number;
  readonly name: string;
  readonly mimeType?: string;
};

/** Larger content is read in pieces or downloaded. */
const mostViewedBytes = 16_777_216;
const longestFirstText = 262_144;
/** The browser draws these without running anything in them. */
const imageTypes: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

async function toDataUrl(content: Blob, mimeType: string): Promise<string> {
  const bytes = new Uint8Array(await content.arrayBuffer());
  let text = '';
  for (let at = 0; at < bytes.length; at += 8_192)
    text += String.fromCodePoint(...bytes.subarray(at, at + 8_192));
  return `data:${mimeType};base64,${btoa(text)}`;
}

/** Parsed JSON, or the text as it is. */
export function readable(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue; // JSON.parse returns JSON.
  } catch {
    return text;
  }
}

/** A large output or a file, read in pieces: it may be larger than a page can hold. */
export function ArtifactPieces(props: Props): ReactNode {
  const { artifactId, sizeBytes, name, mimeType } = props;
  const isImage = imageTypes.has(mimeType ?? '');
  const isViewable = sizeBytes <= mostViewedBytes;
  const { path, state, image, read, readAll } = useArtifact(props, isImage);
  return (
    <div className="artifact">
      <p>
        <ForeignText text={name} />, {sizeBytes.toLocaleString()} bytes, stored as{' '}
        <code>
          <ForeignId id={artifactId} />
        </code>
      </p>
      {state.text !== '' &&
        (state.status === 'end' ? (
          <WholeContent name={name} text={state.text} />
        ) : (
          <div className="qt-card plain">
            <CodeBlock label={`${safeWords(name)}: first ${state.bytes} bytes`} text={state.text} isWhole />
          </div>
        ))}
      {image !== undefined && <img className="viewer-image" src={image} alt={safeWords(name)} />}
      <div className="actions">
        {state.status !== 'end' && !isImage && (
          <button type="button" disabled={state.status === 'reading'} onClick={() => void read()}>
            {state.bytes === 0 ? 'Show' : 'Show more'}
          </button>
        )}
        {isViewable && state.status !== 'end' && image === undefined && (
          <button type="button" disabled={state.status === 'reading'} onClick={() => void readAll()}>
            {isImage ? 'Show' : 'Open in viewer'}
          </button>
        )}
        <DownloadButton path={path}>Download</DownloadButton>
      </div>
      {state.problem !== undefined && <p role="alert">{state.problem}</p>}
    </div>
  );
}

/** Parsed once: it may have several megabytes. */
function WholeContent({ name, text }: { readonly name: string; readonly text: string }): ReactNode {
  const value = useMemo(() => readable(text), [text]);
  // All of it as text would take seconds to draw.
  return (
    <ValueViewer
      label={safeWords(name)}
      value={value}
      first={text.length > longestFirstText ? 'tree' : 'text'}
    />
  );
}

type ReadArtifact = {
  readonly path: string;
  readonly state: ReadingState;
  readonly image: string | undefined;
  readonly read: () => Promise<void>;
  readonly readAll: () => Promise<void>;
};

type ReadingState = {
  readonly text: string;
  readonly bytes: number;
  readonly status: 'ready' | 'reading' | 'end';
  readonly problem: string | undefined;
};

function useArtifact({ sessionId, artifactId, sizeBytes, mimeType }: Props, isImage: boolean): ReadArtifact {
  const path = pathOf('sessions', sessionId, 'artifacts', artifactId);
  const [state, setState] = useState<ReadingState>({
    text: '',
    bytes: 0,
    status: 'ready',
    problem: undefined,
  });
  // One decoder for all pieces: a piece may end in the middle of a character.
  const decoder = useRef(new TextDecoder());
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
      const isEnd =
        answer.status === 200 || piece.byteLength < pieceBytes || bytes + piece.byteLength >= sizeBytes;
      const text = decoder.current.decode(piece, { stream: !isEnd });
      setState((before) => ({
        text: before.text + text,
        bytes: before.bytes + piece.byteLength,
        status: isEnd ? 'end' : 'ready',
        problem: undefined,
      }));
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      setState((before) => ({ ...before, status: 'ready', problem }));
    }
  };
  const [image, setImage] = useState<string>();
  const readAll = async (): Promise<void> => {
    setState((before) => ({ ...before, status: 'reading', problem: undefined }));
    try {
      const answer = await fetch(path, { credentials: 'same-origin', headers: pageKeyHeaders() });
      if (!answer.ok) throw new Error(`The server responded with status ${answer.status}.`);
      if (isImage) {
        setImage(await toDataUrl(await answer.blob(), mimeType ?? ''));
        setState((before) => ({ ...before, status: 'ready' }));
      } else {
        const text = await answer.text();
        setState({ text, bytes: sizeBytes, status: 'end', problem: undefined });
      }
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      setState((before) => ({ ...before, status: 'ready', problem }));
    }
  };
  return { path, state, image, read, readAll };
}
