/** What a file imports from others and exports to them, in both systems of modules. */
import { declaredIn, type CodePlace, placeIn, startOf } from './places.ts'
import { type AnyNode, memberOf, nameOf, namesIn } from './syntax.ts'
import { newPlace, type ReadingContext } from './writes.ts'

export function noteImports(
  { specifiers, source }: Extract<AnyNode, { type: 'ImportDeclaration' }>,
  { facts, scope }: ReadingContext,
): void {
  for (const specifier of specifiers) {
    const place = placeIn(scope, specifier.local.name)
    if (place !== undefined) facts.imports.push({ place, from: String(source.value), name: importedName(specifier) })
  }
}

function importedName(specifier: Extract<AnyNode, { type: 'ImportDeclaration' }>['specifiers'][number]): string {
  if (specifier.type === 'ImportSpecifier') return nameOf(specifier.imported) ?? ''
  return specifier.type === 'ImportDefaultSpecifier' ? 'default' : '*'
}

/** `const { a } = require('./file')` */
export function noteRequired(id: AnyNode, init: AnyNode, { facts, scope }: ReadingContext): void {
  const from = requiredBy(init)
  if (from === undefined) return
  for (const local of namesIn(id)) {
    const place = placeIn(scope, local)
    if (place !== undefined) facts.imports.push({ place, from, name: id.type === 'Identifier' ? '*' : local })
  }
}

/** `require('./file')`, also where a compiler wrapped it. */
function requiredBy(node: AnyNode): string | undefined {
  if (node.type === 'AwaitExpression') return requiredBy(node.argument)
  if (node.type === 'ImportExpression') return nameOf(node.source)
  if (node.type !== 'CallExpression') return undefined
  const [first] = node.arguments
  if (nameOf(node.callee) === 'require') return nameOf(first)
  return first === undefined ? undefined : requiredBy(first)
}

export function noteExports(
  node: Extract<AnyNode, { type: 'ExportNamedDeclaration' | 'ExportDefaultDeclaration' }>,
  { facts, scope }: ReadingContext,
): void {
  const note = (name: string, place: CodePlace | undefined): void =>
    void (place !== undefined && facts.exports.set(name, place))
  if (node.type === 'ExportDefaultDeclaration') {
    if (node.declaration.type === 'Identifier') note('default', placeIn(scope, node.declaration.name))
    return
  }
  for (const { local, exported } of node.source ? [] : node.specifiers) {
    note(nameOf(exported) ?? '', placeIn(scope, nameOf(local) ?? ''))
  }
  const declared = node.declaration ? declaredIn([node.declaration], true) : []
  for (const { name } of declared) note(name, placeIn(scope, name))
}

/** `exports.name = …`, `module.exports.name = …` outside of all functions. */
export function noteExported(target: AnyNode, value: AnyNode, { facts, scope, by }: ReadingContext): void {
  const name = by.parent === undefined ? exportedBy(target) : undefined
  if (name === undefined) return
  const local = value.type === 'Identifier' ? placeIn(scope, value.name) : scope.places.get(name)
  const start = startOf(value)
  const made = { home: scope.home, owner: undefined, isFixed: false, start, at: value.start }
  facts.exports.set(name, local ?? scope.places.get(name) ?? newPlace(facts, name, made))
}

function exportedBy(node: AnyNode): string | undefined {
  if (node.type !== 'MemberExpression') return undefined
  const isExports = nameOf(node.object) === 'exports' || memberOf(node.object) === 'exports'
  return isExports ? memberOf(node) : undefined
}
