export type TraceSummary = {
  readonly functions: number;
  readonly files: number;
  readonly folderEntries: number;
  readonly roomEntries: number;
  readonly roomReturns: number;
  /** The rooms in the order of their entries. */
  readonly rooms: readonly string[];
};

/** Values, not stages: every room uses them. */
const notCounted = new Set(['base', 'tool']);
const withRooms = new Set(['runtime', 'policy', 'store']);

export function summariseTrace(paths: readonly string[]): TraceSummary {
  const counted = paths.filter((path) => !notCounted.has(folderOf(path)));
  const rooms = withoutRepeats(counted.map(roomOf));
  return {
    functions: paths.length,
    files: new Set(paths).size,
    folderEntries: withoutRepeats(counted.map(folderOf)).length,
    roomEntries: rooms.length,
    roomReturns: rooms.length - new Set(rooms).size,
    rooms,
  };
}

const folderOf = (path: string): string => path.split('/')[1] ?? '';

function roomOf(path: string): string {
  const [, folder = '', room] = path.split('/').slice(0, -1);
  return withRooms.has(folder) && room !== undefined ? `${folder}/${room}` : folder;
}

const withoutRepeats = (items: readonly string[]): readonly string[] =>
  items.filter((item, index) => item !== items[index - 1]);
