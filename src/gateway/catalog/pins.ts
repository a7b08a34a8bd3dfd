/**
 * Pinned definitions: what each tool said when it was first served. A definition that differs is reported. Where the
 * server's policy is `pin`, it is kept beside the pinned one and the tool is withheld until exactly that definition is
 * accepted.
 */
import type { Json } from '../../protocol/index.ts'
import { type DefinitionDigests, definitionChange, definitionDigests, definitionNews } from './definition.ts'

/** The digests of one tool. */
export interface PinnedTool {
  readonly pinned: DefinitionDigests
  /** Another definition that the server has given since, and nobody has accepted. */
  readonly offered?: DefinitionDigests
  /** What its changed parts say, by their names, for whoever is to accept it. */
  readonly news?: Readonly<Record<string, string>>
}

/** By server and by the server's own name of the tool. */
export type Pins = ReadonlyMap<string, ReadonlyMap<string, PinnedTool>>

export interface ChangedDefinition {
  readonly tool: string
  /** What changed, in sentences. */
  readonly change: string
}

export interface PinCheck {
  /** The same object where nothing is to be stored. */
  readonly pins: Pins
  /** Definitions that are not the pinned ones and were not reported before. */
  readonly changed: readonly ChangedDefinition[]
  /** The server's own names of the tools that are not to be served. */
  readonly withheld: ReadonlySet<string>
}

/** Compares the tools that a server lists with the pinned ones. Those that are new to us are pinned. */
export function checkDefinitions(
  pins: Pins,
  server: string,
  { tools, policy }: { readonly tools: readonly Json[]; readonly policy: 'warn' | 'pin' },
): PinCheck {
  const known = pins.get(server) ?? new Map<string, PinnedTool>()
  const next = new Map(known)
  const changed: ChangedDefinition[] = []
  const withheld = new Set<string>()
  for (const definition of tools) {
    const tool = String(definition['name'])
    const digests = definitionDigests(definition)
    const pin = known.get(tool)
    const change = pin && definitionChange(pin.pinned, digests)
    if (change !== undefined && policy === 'pin') withheld.add(tool)
    if (change !== undefined && !isOffered(pin, digests)) changed.push({ tool, change })
    next.set(tool, pinFor(pin, definition, digests, change === undefined ? 'same' : policy))
  }
  forgetUnlisted(next, tools)
  const isStored = tools.every(({ name }) => next.get(String(name)) === known.get(String(name)))
  return { pins: isStored ? pins : new Map(pins).set(server, next), changed, withheld }
}

// A server that always has other tools must not fill the file.
const MAX_PINNED = 10_000

/** Tools that are not listed now stay pinned, in case they come back; of too many, those that came first are dropped. */
function forgetUnlisted(pinned: Map<string, PinnedTool>, tools: readonly Json[]): void {
  if (pinned.size <= MAX_PINNED) return
  const listed = new Set(tools.map(({ name }) => String(name)))
  for (const tool of pinned.keys()) {
    if (pinned.size <= MAX_PINNED) return
    if (!listed.has(tool)) pinned.delete(tool)
  }
}

/** What is kept of a tool. An object that stays is the same object. */
function pinFor(
  pin: PinnedTool | undefined,
  definition: Json,
  digests: DefinitionDigests,
  what: 'same' | 'warn' | 'pin',
): PinnedTool {
  if (pin === undefined || what === 'warn') return { pinned: digests }
  if (what === 'same') return pin.offered === undefined ? pin : { pinned: pin.pinned }
  if (isOffered(pin, digests)) return pin
  return { pinned: pin.pinned, offered: digests, news: definitionNews(pin.pinned, definition) }
}

function isOffered(pin: PinnedTool | undefined, digests: DefinitionDigests): boolean {
  return pin?.offered !== undefined && definitionChange(pin.offered, digests) === undefined
}

/** A tool whose changed definition waits to be accepted. */
export interface OfferedTool extends ChangedDefinition, Pick<PinnedTool, 'news'> {
  readonly server: string
}

/** All tools that are withheld. */
export function offeredTools(pins: Pins): readonly OfferedTool[] {
  return [...pins].flatMap(([server, tools]) =>
    [...tools].flatMap(([tool, { pinned, offered, news }]) => {
      const change = offered && definitionChange(pinned, offered)
      return change === undefined ? [] : [{ server, tool, change, ...(news !== undefined && { news }) }]
    }),
  )
}

/** Pins the definitions that were offered for these tools. */
export function acceptOffered(pins: Pins, accepted: readonly { server: string; tool: string }[]): Pins {
  const next = new Map(pins)
  for (const { server, tool } of accepted) {
    const offered = next.get(server)?.get(tool)?.offered
    if (offered !== undefined) next.set(server, new Map(next.get(server)).set(tool, { pinned: offered }))
  }
  return next
}
