/** The meaning of a name in a file. */
import type { Class, ImportDeclaration, Node, VariableDeclarator } from 'oxc-parser'
import type { Source } from './source.ts'
import { type FunctionNode, isFunction, keyOf } from './syntax.ts'

type Id = Node & { type: 'Identifier' }

/** `id` is the place of the declaration. `path` are the keys that a pattern takes it out by. */
export type Binding =
  | { readonly kind: 'import'; readonly id: Id; readonly module: string; readonly imported: string }
  | { readonly kind: 'variable'; readonly id: Id; readonly node: VariableDeclarator; readonly path: readonly string[] }
  | { readonly kind: 'parameter'; readonly id: Id; readonly node: Node; readonly fn: FunctionNode }
  | { readonly kind: 'function'; readonly id: Id; readonly node: FunctionNode }
  | { readonly kind: 'class'; readonly id: Id; readonly node: Class }

/** The innermost declaration of the name around a place. */
export function bindingOf(source: Source, at: Node, name: string): Binding | undefined {
  for (const scope of source.ancestorsOf(at)) {
    if (isFunction(scope)) {
      for (const param of scope.params) {
        const found = inPattern(param.type === 'TSParameterProperty' ? param.parameter : param, name)
        if (found !== undefined) return { kind: 'parameter', id: found.id, node: param, fn: scope }
      }
    }
    if (scope.type === 'ForOfStatement' || scope.type === 'ForInStatement') {
      const found = declaredBy(scope.left, name)
      if (found !== undefined) return found
    }
    if (scope.type !== 'Program' && scope.type !== 'BlockStatement') continue
    for (const statement of scope.body) {
      const found = declaredBy(statement, name)
      if (found !== undefined) return found
    }
  }
  return undefined
}

function declaredBy(statement: Node, name: string): Binding | undefined {
  switch (statement.type) {
    case 'ExportNamedDeclaration':
    case 'ExportDefaultDeclaration':
      return statement.declaration == null ? undefined : declaredBy(statement.declaration, name)
    case 'ImportDeclaration':
      return importedBy(statement, name)
    case 'FunctionDeclaration':
      return statement.id?.name === name ? { kind: 'function', id: statement.id, node: statement } : undefined
    case 'ClassDeclaration':
      return statement.id?.name === name ? { kind: 'class', id: statement.id, node: statement } : undefined
    case 'VariableDeclaration':
      for (const node of statement.declarations) {
        const found = inPattern(node.id, name)
        if (found !== undefined) return { kind: 'variable', node, ...found }
      }
      return undefined
    default:
      return undefined
  }
}

function importedBy(statement: ImportDeclaration, name: string): Binding | undefined {
  const specifier = statement.specifiers.find(({ local }) => local.name === name)
  if (specifier === undefined) return undefined
  const { local, type } = specifier
  const imported =
    type === 'ImportSpecifier'
      ? specifier.imported.type === 'Identifier'
        ? specifier.imported.name
        : specifier.imported.value
      : type === 'ImportDefaultSpecifier'
        ? 'default'
        : '*'
  return { kind: 'import', id: local, module: statement.source.value, imported }
}

function inPattern(
  pattern: Node,
  name: string,
  path: readonly string[] = [],
): { id: Id; path: readonly string[] } | undefined {
  switch (pattern.type) {
    case 'Identifier':
      return pattern.name === name ? { id: pattern, path } : undefined
    case 'AssignmentPattern':
      return inPattern(pattern.left, name, path)
    case 'RestElement':
      return inPattern(pattern.argument, name, [...path, '...'])
    case 'ObjectPattern':
      for (const property of pattern.properties) {
        const [target, key] =
          property.type === 'Property' ? [property.value, keyOf(property as never) ?? '?'] : [property, '...']
        const found = inPattern(target, name, [...path, key])
        if (found !== undefined) return found
      }
      return undefined
    case 'ArrayPattern':
      for (const [index, element] of pattern.elements.entries()) {
        const found = element === null ? undefined : inPattern(element, name, [...path, String(index)])
        if (found !== undefined) return found
      }
      return undefined
    default:
      return undefined
  }
}

/** Whether an identifier reads or writes a variable, and is no key, no member and no declaration of an import. */
export function isReference(source: Source, node: Node): node is Id {
  if (node.type !== 'Identifier') return false
  const parent = source.parentOf(node)
  switch (parent?.type) {
    case 'MemberExpression':
      return parent.object === node || parent.computed
    case 'Property':
      return parent.shorthand ? parent.value === node : parent.value === node || parent.computed
    case 'MethodDefinition':
    case 'PropertyDefinition':
    case 'TSPropertySignature':
    case 'TSMethodSignature':
      return parent.key !== node || parent.computed
    case 'ImportSpecifier':
    case 'ImportDefaultSpecifier':
    case 'ImportNamespaceSpecifier':
    case 'LabeledStatement':
      return false
    case 'TSQualifiedName':
      return parent.left === node
    default:
      return true
  }
}

export function referencesTo(source: Source, { id }: Binding): Id[] {
  return source.nodes.filter(
    (node): node is Id =>
      node !== id &&
      node.type === 'Identifier' &&
      node.name === id.name &&
      isReference(source, node) &&
      bindingOf(source, node, node.name)?.id === id,
  )
}

/** Every name that is written in a file, however it is used. */
export function namesIn(source: Source): Set<string> {
  return new Set(source.nodes.flatMap((node) => (node.type === 'Identifier' ? [node.name] : [])))
}
