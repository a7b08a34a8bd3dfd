/** Schemas of arguments: the SDK takes the fields of a zod object, Pannier the object. */
import type { Node } from 'oxc-parser'
import type { Run } from './run.ts'
import type { Source } from './source.ts'
import { bare, memberOf, stringOf } from './syntax.ts'

export type SchemaForm = 'shape' | 'shape of' | 'schema' | 'unknown'

/** Whether an expression is fields (`shape`), `X.shape`, or a schema already. */
function formOf(run: Run, source: Source, expression: Node): SchemaForm {
  const node = bare(expression)
  if (node.type === 'ObjectExpression') return 'shape'
  if (memberOf(node) === 'shape') return 'shape of'
  if (node.type === 'CallExpression' || node.type === 'NewExpression') return 'schema'
  if (node.type !== 'Identifier') return 'unknown'
  const found = run.project.definitionOf(source, node)
  if (found?.binding.kind !== 'variable' || found.binding.path.length > 0 || found.binding.node.init == null)
    return 'unknown'
  const form = formOf(run, found.source, found.binding.node.init)
  return form === 'shape of' ? 'shape' : form
}

/** Makes a schema from the SDK's arguments. `what` names the tool or prompt. */
export function rewriteSchema(run: Run, source: Source, expression: Node, what: string): void {
  const form = formOf(run, source, expression)
  if (form === 'schema') return
  switch (form) {
    case 'shape':
      source.insert(expression.start, `${run.zodIn(source)}.object(`)
      source.insert(expression.end, ')')
      return
    case 'shape of': {
      const node = bare(expression)
      if (node.type === 'MemberExpression') source.replace(expression, () => source.render(node.object))
      break
    }
    default:
      run.leave(
        source,
        expression,
        `the schema of ${what}`,
        'it cannot be seen here whether it is a schema or the fields of one',
        'if it is fields, wrap them: z.object(…)',
      )
  }
}

const ANNOTATIONS = new Set(['title', 'readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'])

/** As the SDK tells annotations from fields: by their names. */
export function areAnnotations(run: Run, source: Source, expression: Node): boolean {
  const node = bare(expression)
  if (node.type === 'Identifier') {
    const found = run.project.definitionOf(source, node)
    if (found?.binding.kind !== 'variable' || found.binding.node.init == null) return false
    return areAnnotations(run, found.source, found.binding.node.init)
  }
  if (node.type !== 'ObjectExpression' || node.properties.length === 0) return false
  return node.properties.every((one) => {
    if (one.type !== 'Property') return false
    const name = one.key.type === 'Identifier' ? one.key.name : stringOf(one.key)
    return name !== undefined && ANNOTATIONS.has(name)
  })
}
