import { expect, test } from 'vitest';
import { contentBytes, contentDigest } from './content-digest.ts';

test('the digest of a content is that of its bytes, and for a text that of its UTF-8', () => {
  const digest = 'sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824';
  expect(contentDigest('hello')).toBe(digest);
  expect(contentDigest(new TextEncoder().encode('hello'))).toBe(digest);
});

test('texts that differ only in lone surrogates have different digests', () => {
  expect(contentDigest('\ud800')).not.toBe(contentDigest('\ud801'));
  expect(Buffer.from(contentBytes('a\ud800')).toString('utf16le')).toBe('a\ud800');
});
