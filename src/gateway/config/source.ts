/** The source of a configuration: a file, with a line for each member, or a plain object. Problems name their place. */
import { findNodeAtLocation, getNodeValue, type Node } from 'jsonc-parser'
import { ClientError } from '../../client/index.ts'
import { type EntryProblem, type FieldPath, parseCommentedTree } from '../../client/internal.ts'
import { isObject, type Json, remembered } from '../../protocol/index.ts'

export interface SourceEntry {
  readonly path: FieldPath
  readonly name: string
  readonly entry: unknown
}

export interface ConfigSource {
  readonly file?: string
  /** Undefined if there is no object of servers. */
  readonly servers: readonly SourceEntry[] | undefined
  readonly gateway: unknown
  /** All members at the top. */
  readonly root: Json
  /** Duplicate members of one object of servers or settings. */
  readonly repeated: readonly FieldPath[]
  lineOf(path: FieldPath): number | undefined
}

// VS Code's settings, VS Code's mcp.json, and all others.
const CONTAINERS: readonly FieldPath[] = [['mcp', 'servers'], ['servers'], ['mcpServers']]

export function sourceOfText(text: string, file: string): ConfigSource {
  const { root, lineAt } = parseCommentedTree(text, file)
  const containers = CONTAINERS.flatMap((path) => {
    const node = root && findNodeAtLocation(root, [...path])
    return node?.type === 'object' ? [{ path, node }] : []
  })
  const gateway = root && findNodeAtLocation(root, ['gateway'])
  const entries = containers.flatMap(({ path, node }) => {
    const members = propertiesOf(node).filter((each) => isLast(each, node))
    return members.map(({ name, value }) => ({ path: [...path, name], name, node: value }))
  })
  return {
    file,
    servers: containers.length === 0 ? undefined : entries.map(({ node, ...each }) => ({ ...each, entry: read(node) })),
    gateway: gateway && read(gateway),
    root: membersOf(read(root)),
    repeated: [
      ...containers.flatMap(({ path, node }) => repeatedIn(node, path)),
      ...(gateway === undefined ? [] : repeatedIn(gateway, ['gateway'])),
    ],
    lineOf: (path) => {
      const node = root && nearestNode(root, path)
      return node && lineAt(node.offset)
    },
  }
}

export function sourceOfValue(value: unknown): ConfigSource {
  const root = membersOf(value)
  const mcp = membersOf(root['mcp'])
  const found = CONTAINERS.flatMap((path) => {
    const servers = path.length > 1 ? mcp['servers'] : root[String(path[0])]
    return isObject(servers) ? [{ path, servers }] : []
  })
  const entries = found.flatMap(({ path, servers }) =>
    Object.entries(servers).map(([name, entry]) => ({ path: [...path, name], name, entry })),
  )
  return {
    servers: found.length === 0 ? undefined : entries,
    gateway: root['gateway'],
    root,
    repeated: [],
    lineOf: () => undefined,
  }
}

function membersOf(value: unknown): Json {
  return isObject(value) ? value : {}
}

function read(node: Node | undefined): unknown {
  return node === undefined ? undefined : (getNodeValue(node) as unknown)
}

interface Property {
  readonly name: string
  readonly key: Node
  readonly value: Node | undefined
}

function propertiesOf({ type, children = [] }: Node): readonly Property[] {
  if (type !== 'object') return []
  return children.flatMap(({ children: [key, value] = [] }) =>
    key === undefined ? [] : [{ name: String(key.value), key, value }],
  )
}

/** Of duplicate members the last one counts. */
function isLast({ name, key }: Property, node: Node): boolean {
  return lastByName(node).get(name)?.key === key
}

/** The members of an object by name. Remembered, because many paths lead through the object of all servers. */
const lastByName = remembered(
  (node: Node): ReadonlyMap<string, Property> => new Map(propertiesOf(node).map((each) => [each.name, each])),
)

function repeatedIn(node: Node, path: FieldPath): readonly FieldPath[] {
  if (node.type === 'array') return (node.children ?? []).flatMap((child, at) => repeatedIn(child, [...path, at]))
  const properties = propertiesOf(node)
  const twice = new Set(properties.filter((each) => !isLast(each, node)).map(({ name }) => name))
  return [
    ...[...twice].map((name) => [...path, name]),
    ...properties.flatMap(({ name, value }) => (value === undefined ? [] : repeatedIn(value, [...path, name]))),
  ]
}

/** The property or item at a path, or the nearest one above it. Of duplicate members it is the last. */
function nearestNode(root: Node, path: FieldPath): Node {
  let [nearest, current]: [Node, Node | undefined] = [root, root]
  for (const part of path) {
    if (current === undefined) break
    const property: Property | undefined = typeof part === 'string' ? lastByName(current).get(part) : undefined
    current = typeof part === 'number' ? current.children?.[part] : property?.value
    nearest = property?.key ?? current ?? nearest
  }
  return nearest
}

export interface ConfigProblem {
  /** Absent if the configuration is no file. */
  readonly file?: string
  readonly line?: number
  /** `servers.github.pannier.state`. */
  readonly key: string
  readonly code: EntryProblem['code']
  /** Follows the key. It never quotes a value. */
  readonly sentence: string
}

/** All problems of a configuration, one per line. */
export class GatewayConfigError extends ClientError {
  override readonly name = 'GatewayConfigError'
  readonly problems: readonly ConfigProblem[]

  constructor(problems: readonly ConfigProblem[]) {
    super('CONFIG_INVALID', problems.map(problemText).join('\n'))
    this.problems = problems
  }
}

/** `mcp.json:14: servers.github.pannier.state must be "auto", "stateless" or "stateful".` */
export function problemText({ file, line, key, sentence }: ConfigProblem): string {
  const where = file === undefined ? '' : line === undefined ? `${file}: ` : `${file}:${line}: `
  return `${where}${key} ${sentence}`.trimEnd()
}

/** The path in JavaScript notation. */
export function keyText(path: FieldPath): string {
  const parts = path.map((part) => {
    if (typeof part === 'number') return `[${part}]`
    return /^[A-Za-z_$][\w$-]*$/.test(part) ? `.${part}` : `[${JSON.stringify(part)}]`
  })
  return parts.join('').replace(/^\./, '')
}

export function problemAt(source: ConfigSource, path: FieldPath, { code, sentence }: EntryProblem): ConfigProblem {
  const line = source.lineOf(path)
  return {
    ...(source.file !== undefined && { file: source.file }),
    ...(line !== undefined && { line }),
    key: keyText(path),
    code,
    sentence,
  }
}
