/** `new McpServer(info, options)` and `new Server(info, options)` become `createServer({ ...info, instructions })`. */
import type { NewExpression, Node, ObjectExpression } from 'oxc-parser'
import type { Run } from './run.ts'
import type { Source } from './source.ts'
import { bare, propertiesOf } from './syntax.ts'

const IDENTITY = new Set(['name', 'version', 'title', 'websiteUrl', 'icons'])
/** Options that Pannier does not need. */
const BY_ITSELF = new Set([
  'capabilities',
  'enforceStrictCapabilities',
  'debouncedNotificationMethods',
  'jsonSchemaValidator',
])

const HOW: Readonly<Record<string, string>> = {
  description: 'leave it out, or put it into instructions',
  tasks: 'createServer({ tasks: sqliteTasks({ path }) }), and the option task of server.tool',
  taskStore: 'createServer({ tasks: sqliteTasks({ path }) }), and the option task of server.tool',
  taskMessageQueue: 'leave it out; the task store of Pannier needs no queue',
  requestState: 'leave it out; createServer({ keys }) seals the state',
  inputRequired: 'leave it out; createServer has maxRounds and maxAsks',
}

export function rewriteConstruction(run: Run, source: Source, node: NewExpression): void {
  const [info, options] = node.arguments
  const identity = info && bare(info)
  if (info === undefined || identity?.type === 'SpreadElement')
    return run.leave(
      source,
      node,
      source.textOf(node.callee),
      'its name and version cannot be read here',
      'createServer({ name, version })',
    )
  if (identity?.type === 'ObjectExpression') checkIdentity(run, source, identity)
  const object = options && bare(options)
  const members = options === undefined ? [] : membersOf(run, source, options, object)
  if (members === undefined) return
  const create = run.nameOf(source, 'createServer')
  source.replace({ start: node.start, end: node.callee.end }, create)
  if (options === undefined) return
  source.replace({ start: info.end, end: node.end - 1 }, '')
  if (members.length === 0) return
  if (identity?.type === 'ObjectExpression') {
    const last = identity.properties.at(-1)
    const text = members.join(', ')
    source.insert(last?.end ?? identity.start + 1, last === undefined ? ` ${text} ` : `, ${text}`)
  } else {
    source.insert(info.start, '{ ...')
    source.insert(info.end, `, ${members.join(', ')} }`)
  }
}

function checkIdentity(run: Run, source: Source, identity: ObjectExpression): void {
  for (const [name, property] of propertiesOf(identity) ?? []) {
    if (IDENTITY.has(name)) continue
    run.leave(
      source,
      property,
      `"${name}" of the server`,
      'createServer has no such option',
      HOW[name] ?? 'leave it out',
    )
  }
}

/** The options that createServer accepts, as text; undefined if they cannot be read. */
function membersOf(run: Run, source: Source, options: Node, object: Node | undefined): string[] | undefined {
  const properties = object?.type === 'ObjectExpression' ? propertiesOf(object) : undefined
  if (properties === undefined) {
    run.leave(
      source,
      options,
      'the options of the server',
      'they cannot be read here',
      'createServer({ name, version, instructions })',
    )
    return undefined
  }
  const members: string[] = []
  for (const [name, property] of properties) {
    if (name === 'instructions') members.push(source.textOf(property))
    else if (name === 'capabilities') noteCapabilities(run, source, property.value)
    else if (!BY_ITSELF.has(name)) {
      run.leave(
        source,
        property,
        `the option ${name} of the server`,
        'it has no counterpart of the same kind; it was removed',
        HOW[name] ?? 'see the options of createServer',
      )
    }
  }
  return members
}

const DECLARED = new Set(['tools', 'prompts', 'resources', 'completions', 'logging'])

function noteCapabilities(run: Run, source: Source, value: Node): void {
  const object = bare(value)
  const properties = object.type === 'ObjectExpression' ? propertiesOf(object) : undefined
  for (const [name, property] of properties ?? []) {
    if (DECLARED.has(name)) continue
    const how = name === 'tasks' ? HOW['tasks'] : 'Pannier declares what it has; leave it out'
    run.leave(source, property, `the capability ${name}`, 'it was removed', how ?? '')
  }
}
