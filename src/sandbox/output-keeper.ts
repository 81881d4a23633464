/** Keeps the beginning and the end of a stream. */
export function createOutputKeeper(mostBytes: number): {
  readonly add: (chunk: Buffer) => void;
  readonly text: () => string;
  readonly omittedBytes: () => number;
} {
  const headBytes = Math.ceil(mostBytes / 2);
  const tailBytes = mostBytes - headBytes;
  const head: Buffer[] = [];
  let headLength = 0;
  let tail: Buffer = Buffer.alloc(0);
  let total = 0;
  const omittedBytes = (): number => Math.max(0, total - mostBytes);
  return {
    add: (chunk) => {
      total += chunk.length;
      const room = headBytes - headLength;
      // A copy: the chunk may be a small part of a large buffer.
      if (room > 0) head.push(Buffer.from(chunk.subarray(0, room)));
      headLength += Math.min(room, chunk.length);
      const rest = chunk.subarray(Math.max(0, room));
      if (rest.length > 0)
        tail =
          tailBytes === 0
            ? tail
            : Buffer.concat([tail, rest].map((each) => each.subarray(-tailBytes))).subarray(-tailBytes);
    },
    text: () => {
      const decode = (bytes: Buffer, stream: boolean): string => new TextDecoder().decode(bytes, { stream });
      const start = Buffer.concat(head);
      if (omittedBytes() === 0) return decode(Buffer.concat([start, tail]), false);
      // Both cuts may be in the middle of a letter.
      const from = tail.findIndex((byte) => (byte & 0xc0) !== 0x80);
      return `${decode(start, true)}\n[${omittedBytes()} bytes omitted here]\n${decode(tail.subarray(Math.max(0, from)), false)}`;
    },
    omittedBytes,
  };
}
