import { hash } from 'node:crypto';

/** `sha256:<hex>` of a content as it is kept: text as UTF-8, and as UTF-16 where UTF-8 cannot hold it. */
export const contentDigest = (content: string | Uint8Array): string =>
  `sha256:${hash('sha256', contentBytes(content))}`;

/** The bytes a content is kept as. */
export const contentBytes = (content: string | Uint8Array): Uint8Array =>
  typeof content === 'string' ? Buffer.from(content, content.isWellFormed() ? 'utf8' : 'utf16le') : content;
