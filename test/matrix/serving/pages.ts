/** More resources than a page of a list has, the same for each server of the matrix. */
export const PAGE_SIZE = 10

export const PAGED: readonly string[] = Array.from({ length: 25 }, (_, index) => `page://${index + 1}`)

/** One page for servers that have to cut their lists themselves; its cursor is where the next one begins. */
export function pageFrom(cursor: string | undefined): { uris: readonly string[]; nextCursor?: string } {
  const from = Number(cursor ?? 0)
  const next = from + PAGE_SIZE
  return { uris: PAGED.slice(from, next), ...(next < PAGED.length && { nextCursor: String(next) }) }
}
