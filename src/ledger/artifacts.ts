/** Large outputs and attached files, stored outside the entries. */
import type { Awaitable } from '../base/json.ts';

export interface Artifacts {
  put(artifact: NewArtifact): Awaitable<void>;
  read(sessionId: string, artifactId: string): Awaitable<StoredArtifact | undefined>;
  /** Type and size of an artifact without its content; undefined if there is none. */
  measure(sessionId: string, artifactId: string): Awaitable<ArtifactFacts | undefined>;
  /** Some of the stored bytes, in `encoding`; fewer at the end. Undefined if there is no such artifact. */
  readBytes(
    sessionId: string,
    artifactId: string,
    from: number,
    most: number,
  ): Awaitable<Uint8Array | undefined>;
}

export type NewArtifact = {
  readonly artifactId: string;
  readonly sessionId: string;
  readonly callId: string;
  readonly mimeType: string;
  readonly content: string | Uint8Array;
};
export type StoredArtifact = Pick<NewArtifact, 'artifactId' | 'mimeType' | 'content'> & {
  /** The call that made it. Absent in stores that nothing outside the process can change. */
  readonly callId?: string;
};

export type ArtifactFacts = {
  readonly mimeType: string;
  readonly encoding: 'utf8' | 'utf16le' | 'bytes';
  readonly bytes: number;
};
