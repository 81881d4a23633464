import { hash } from 'node:crypto';

/** `sha256:<hex>` of a content as stored: text as UTF-8, or as UTF-16 if UTF-8 cannot represent it. */
export const contentDigest = (content: string | Uint8Array): string =>
  `sha256:${hash('sha256', contentBytes(content))}`;

/** The stored bytes of a content. */
export const contentBytes = (content: string | Uint8Array): Uint8Array =>
  typeof content === 'string' ? Buffer.from(content, contentEncoding(content) as BufferEncoding) : content;

/** How the bytes become the content again. */
export const contentEncoding = (content: string | Uint8Array): 'utf8' | 'utf16le' | 'bytes' =>
  typeof content !== 'string' ? 'bytes' : content.isWellFormed() ? 'utf8' : 'utf16le';
