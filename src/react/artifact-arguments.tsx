import type { ReactNode } from 'react';
import { formatPath } from '../base/json.ts';
import { safeText } from '../base/safe-text.ts';
import type { ArtifactArgument } from '../call/event.ts';
import { CodeBlock } from './code-block.tsx';
import { ShownId, ShownText } from './shown-text.tsx';

/** The artifacts named in the arguments: the tool receives their content. */
export function ArtifactArguments({
  artifacts,
}: {
  readonly artifacts: readonly ArtifactArgument[];
}): ReactNode {
  return artifacts.map(({ path, artifactId, digest, sizeBytes, mimeType, preview, inPlace }) => (
    <div key={formatPath(path)} className="qt-artifact-argument">
      <p className="qt-note">
        <ShownText text={formatPath(path)} /> is the content of <ShownId id={artifactId} />: {sizeBytes}{' '}
        bytes, <ShownText text={mimeType} />, digest <code>{safeText(digest)}</code>.
        {!inPlace && ' The schema of the tool transformed it: the arguments above show the result.'}
      </p>
      <CodeBlock label={`Beginning of ${safeText(artifactId)}`} text={preview} />
    </div>
  ));
}
