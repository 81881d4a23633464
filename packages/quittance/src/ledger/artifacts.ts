/** Large outputs and attached files, stored outside the entries. */
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

/** Some of the stored bytes of an artifact; fewer at its end. */
export type ArtifactPiece = {
  readonly mimeType: string;
  /** How the bytes become the content. */
  readonly encoding: ArtifactFacts['encoding'];
  /** Of the whole artifact. */
  readonly size: number;
  readonly bytes: Uint8Array;
  /** The call that made it. Absent in stores that nothing outside the process can change. */
  readonly callId?: string | undefined;
};
