/** What other folders of this package need, and its users do not. Nothing is promised about these names. */
export { httpUrlFault } from './config/address.ts'
export { type EntryProblem, errnoOf, type FieldPath, readAddress } from './config/entry.ts'
export { parseCommentedTree } from './config/jsonc.ts'
export { type Env, entryPlace, readConfigFile } from './config/mcpJson.ts'
export { expand, type Variables } from './config/variables.ts'
