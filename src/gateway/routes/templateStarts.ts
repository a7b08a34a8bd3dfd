/**
 * The fixed beginnings of the templates of all servers, to see which addresses they may be about. They are sorted once: what
 * begins like an address stands just before it, so a search takes as long as the address, however many beginnings there are.
 */
import type { Json } from '../../protocol/index.ts'
import { fixedStart } from './entries.ts'

/** A beginning that an earlier server has, too, or a shorter one, is left out: it decides nothing. */
interface TemplateStart {
  readonly text: string
  /** The number of the first server that has it. */
  readonly server: number
  /** The longest shorter one that it begins with. That is of a later server, so there are no more of them than servers. */
  readonly within: TemplateStart | undefined
}

export class TemplateStarts {
  readonly #sorted: TemplateStart[] = []

  /** `templates`: of each server, in their order. */
  constructor(templates: readonly (readonly Json[])[]) {
    for (const [text, server] of Array.from(firstServers(templates)).toSorted(byText)) {
      const within = longestIn(this.#sorted.at(-1), text)
      if (within === undefined || server < within.server) this.#sorted.push({ text, server, within })
    }
  }

  /** The number of the first server with a template that may be about an address, or about all that another is about. */
  firstAbout(uri: string): number | undefined {
    return longestIn(this.#lastUpTo(uri), uri)?.server
  }

  #lastUpTo(uri: string): TemplateStart | undefined {
    let [low, high] = [0, this.#sorted.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#sorted[middle] as TemplateStart).text <= uri) low = middle + 1
      else high = middle
    }
    return this.#sorted[low - 1]
  }
}

function firstServers(templates: readonly (readonly Json[])[]): ReadonlyMap<string, number> {
  const servers = new Map<string, number>()
  for (const [server, listed] of templates.entries()) {
    for (const each of listed) {
      const text = fixedStart(String(each['uriTemplate']))
      // One without says nothing of what it is about.
      if (text !== '' && !servers.has(text)) servers.set(text, server)
    }
  }
  return servers
}

function byText([a]: readonly [string, number], [b]: readonly [string, number]): number {
  return a < b ? -1 : 1
}

/** The first of a beginning and those within which it is that a text begins with. */
function longestIn(start: TemplateStart | undefined, text: string): TemplateStart | undefined {
  let found = start
  while (found !== undefined && !text.startsWith(found.text)) found = found.within
  return found
}
