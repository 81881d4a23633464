/** The artifacts in the arguments of a call, shown to the approver. */
import { formatPath } from 'quittance/internal/base/json';
import type { ArtifactArgument } from 'quittance/internal/call/event';
import type { PageLayout } from './page-layout.ts';
import { block, labelled } from './page-layout.ts';

export const artifactLines = (artifacts: readonly ArtifactArgument[], page: PageLayout): string[] =>
  artifacts.flatMap(({ path, artifactId, digest, sizeBytes, mimeType, preview, inPlace }) => [
    ...labelled('artifact', `${artifactId} at ${formatPath(path)}`, page),
    ...labelled('content', `${sizeBytes} bytes, ${mimeType}`, page),
    ...labelled('digest', digest, page),
    ...(inPlace ? [] : labelled('note', "the tool's schema changed the content: see the arguments", page)),
    ...block(preview, page),
  ]);
