/** Variables of modules that calls change, and that a second process would not see. */
import type { Node } from 'oxc-parser'
import { type Binding, bindingOf, referencesTo } from './names.ts'
import { isTest, type Project } from './project.ts'
import type { Source } from './source.ts'
import { isFunction, memberOf } from './syntax.ts'

const CHANGES = new Set([
  'set',
  'add',
  'delete',
  'clear',
  'push',
  'pop',
  'shift',
  'unshift',
  'splice',
  'sort',
  'reverse',
  'fill',
])

/** Each as `file:line name`. */
export function stateIn(project: Project): string[] {
  return [...project.sources.values()].filter((source) => !isTest(source)).flatMap(stateOf)
}

function stateOf(source: Source): string[] {
  return source.program.body.flatMap((statement) => {
    const declaration = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
    if (declaration?.type !== 'VariableDeclaration') return []
    return declaration.declarations.flatMap(({ id }) => {
      const binding = id.type === 'Identifier' ? bindingOf(source, statement, id.name) : undefined
      return binding !== undefined && isChangedByCalls(source, binding)
        ? [`${source.path}:${source.lineAt(id.start)} ${binding.id.name}`]
        : []
    })
  })
}

function isChangedByCalls(source: Source, binding: Binding): boolean {
  return referencesTo(source, binding).some(
    (reference) => isChange(source, reference) && isInFunction(source, reference),
  )
}

function isInFunction(source: Source, node: Node): boolean {
  return [...source.ancestorsOf(node)].some(isFunction)
}

/** `x = …`, `x++`, `x.a = …`, `x.push(…)` */
function isChange(source: Source, node: Node): boolean {
  const parent = source.parentOf(node)
  switch (parent?.type) {
    case 'AssignmentExpression':
      return parent.left === node
    case 'UpdateExpression':
      return true
    case 'UnaryExpression':
      return parent.operator === 'delete'
    case 'MemberExpression': {
      if (parent.object !== node) return false
      const outer = source.parentOf(parent)
      const isCalled = outer?.type === 'CallExpression' && outer.callee === parent
      return isCalled ? CHANGES.has(memberOf(parent) ?? '') : isChange(source, parent)
    }
    default:
      return false
  }
}
