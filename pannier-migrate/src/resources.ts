/** Resources of the official SDK, fixed and by template. Its handlers get a URL; Pannier's handlers get a string. */
import type { CallExpression, NewExpression, Node, ObjectExpression } from 'oxc-parser'
import { rewriteHandler } from './handler.ts'
import { bindingOf, referencesTo } from './names.ts'
import { addAfter, addProperty, quoted } from './objects.ts'
import { sdkName } from './project.ts'
import { calleeObject, completer } from './registrations.ts'
import type { Run } from './run.ts'
import type { ServerKind } from './servers.ts'
import type { Source } from './source.ts'
import { bare, type FunctionNode, keyOf, memberOf, propertyOf } from './syntax.ts'

const HOW = 'server.resource(uri, { name }, handler) or server.resourceTemplate(template, { name }, handler)'

export function rewriteResource(
  run: Run,
  source: Source,
  call: CallExpression,
  server: ServerKind,
  what: string,
): void {
  const statement = source.parentOf(call)
  const [name, address, ...rest] = call.arguments
  const handler = rest.pop()
  const config = rest[0]
  if (statement?.type !== 'ExpressionStatement' || name === undefined || address === undefined || handler === undefined)
    return run.leave(source, call, what, 'what registering it returns is used, or its arguments cannot be read', HOW)
  const template = templateOf(run, source, address)
  const found = run.servers.functionOf(source, handler)
  const refusal = refusalOf(run, source, address, template, config)
  if (refusal !== undefined || found === undefined)
    return run.leave(source, call, what, refusal ?? 'its handler is made elsewhere', HOW)
  const { fn } = found
  rewriteUrl(run, found.source, fn)
  const index = template === undefined ? 1 : 2
  rewriteHandler(run, { ...found, sdk: server.sdk, index, before: index })
  writeOptions(source, call, name, config)
  source.replace(name, () => (template?.uri ? source.textOf(template.uri) : source.textOf(address)))
  source.replace(address, () => (config === undefined ? `{ name: ${source.textOf(name)} }` : ''))
  if (config !== undefined) source.replace({ start: address.start, end: config.start }, '')
  if (call.callee.type === 'MemberExpression')
    source.replace(call.callee.property, template === undefined ? 'resource' : 'resourceTemplate')
  if (template !== undefined) writeCompletions(run, source, call, statement, template)
  run.counts.resources++
}

function refusalOf(
  run: Run,
  source: Source,
  address: Node,
  template: Template | undefined,
  config: Node | undefined,
): string | undefined {
  if (template === undefined && run.servers.functionOf(source, address) !== undefined)
    return 'its arguments cannot be read'
  if (config !== undefined && !['ObjectExpression', 'Identifier'].includes(bare(config).type))
    return 'its options cannot be read here'
  return undefined
}

/** The options of Pannier hold the name too. */
function writeOptions(source: Source, _call: CallExpression, name: Node, config: Node | undefined): void {
  if (config === undefined) return
  const object = bare(config)
  if (object.type === 'ObjectExpression') {
    if (propertyOf(object, 'name') === undefined) addProperty(source, object, `name: ${source.textOf(name)}`)
  } else source.replace(config, `{ name: ${source.textOf(name)}, ...${source.textOf(config)} }`)
}

type Template = { readonly uri: Node; readonly options: ObjectExpression | undefined }

function templateOf(run: Run, source: Source, address: Node): Template | undefined {
  const node = newTemplate(run, source, bare(address))
  if (node === undefined) return undefined
  const [uri, options] = node.arguments
  if (uri === undefined) return undefined
  const object = options && bare(options)
  const found = object?.type === 'ObjectExpression' ? object : undefined
  const list = found && propertyOf(found, 'list')
  if (list !== undefined && source.textOf(list.value) !== 'undefined') {
    const how = 'register each with server.resource, or give the model a tool that lists them'
    run.leave(
      source,
      list,
      'the list of a resource template',
      'the templates of Pannier list nothing; it was removed',
      how,
    )
  }
  return { uri, options: found }
}

function newTemplate(run: Run, source: Source, node: Node): NewExpression | undefined {
  if (node.type === 'NewExpression') return sdkName(source, node.callee)?.name === 'ResourceTemplate' ? node : undefined
  if (node.type !== 'Identifier') return undefined
  const found = run.project.definitionOf(source, node)
  if (found?.source !== source || found.binding.kind !== 'variable' || found.binding.node.init == null) return undefined
  return newTemplate(run, source, bare(found.binding.node.init))
}

function writeCompletions(
  run: Run,
  source: Source,
  call: CallExpression,
  statement: Node,
  { uri, options }: Template,
): void {
  const complete = options && propertyOf(options, 'complete')
  const object = complete && bare(complete.value)
  if (object?.type !== 'ObjectExpression') return
  const server = source.textOf(calleeObject(call))
  for (const property of object.properties) {
    const variable = property.type === 'Property' ? keyOf(property) : undefined
    if (property.type !== 'Property' || variable === undefined) {
      run.leave(
        source,
        property,
        'a completion of a resource template',
        'its variable cannot be read here',
        'server.completion({ template, variable }, …)',
      )
      continue
    }
    const target = `{ template: ${source.textOf(uri)}, variable: ${quoted(source, variable)} }`
    addAfter(source, statement, `${server}.completion(${target}, ${completer(run, source, property.value)})`)
  }
}

/** If the handler reads only `uri.href`, it uses the string; otherwise it makes a URL from the string. */
function rewriteUrl(run: Run, source: Source, fn: FunctionNode): void {
  const [param] = fn.params
  if (param === undefined || run.isDone(fn)) return
  if (param.type !== 'Identifier' || fn.body == null) {
    run.leave(
      source,
      param,
      'the address in a resource handler',
      'it is a string here, not a URL',
      'take it apart with new URL(uri)',
    )
    return
  }
  if (param.typeAnnotation != null) source.replace(param.typeAnnotation, ': string')
  const binding = bindingOf(source, fn.body, param.name)
  if (binding === undefined) return
  for (const reference of referencesTo(source, binding)) {
    const parent = source.parentOf(reference)
    const member = parent?.type === 'MemberExpression' && parent.object === reference ? memberOf(parent) : undefined
    if (member === 'href' && parent !== undefined) source.replace(parent, param.name)
    else if (member !== 'toString') {
      const isShort = parent?.type === 'Property' && parent.shorthand
      source.replace(isShort ? parent : reference, `${isShort ? `${param.name}: ` : ''}new URL(${param.name})`)
    }
  }
}
