/** A list that only grows. An array that grows is copied again and again, so its items cost three times their memory. */
const pageBits = 6;
const pageSize = 1 << pageBits;

export class PagedList<Item> {
  readonly #pages: Item[][] = [];
  length = 0;

  push(item: Item): void {
    const at = this.length & (pageSize - 1);
    if (at === 0) this.#pages.push(Array.from<Item>({ length: pageSize }));
    (this.#pages.at(-1) as Item[])[at] = item; // the page was just made, or has room
    this.length++;
  }

  /** An item that exists. */
  get(index: number): Item {
    return this.#pages[index >> pageBits]?.[index & (pageSize - 1)] as Item; // the caller says that it exists
  }

  slice(from = 0, to: number = this.length): Item[] {
    const items: Item[] = [];
    for (let index = from; index < Math.min(to, this.length); index++) items.push(this.get(index));
    return items;
  }
}
