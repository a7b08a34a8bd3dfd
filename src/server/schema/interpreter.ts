/** Checks plain JSON Schemas without generating code, which Workers and some other places forbid. */
import { CfWorkerJsonSchemaValidator } from '@modelcontextprotocol/client/validators/cf-worker'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Json } from '../../protocol/index.ts'
import { type Checked, describeIssues } from './check.ts'

export function interpretedCheck(json: Json): (value: unknown) => Checked {
  const validate = new CfWorkerJsonSchemaValidator().getValidator(json)
  return (value) => {
    const { valid, errorMessage = '' } = validate(value)
    return valid ? { ok: true, value } : { ok: false, issues: describeIssues([innermost(errorMessage)]) }
  }
}

/** `#: Property "a" does not match schema.; #/a: Too long.` is a chain from the whole value down to the wrong part. */
function innermost(chain: string): StandardSchemaV1.Issue {
  const last = chain.split(/; (?=#[^:]*: )/).at(-1) ?? chain
  const [, pointer, message] = /^#\/([^:]*): (.*)$/s.exec(last) ?? []
  if (pointer === undefined || message === undefined) return { message: last.replace(/^#: /, '') }
  return { path: pointer.split('/'), message }
}
