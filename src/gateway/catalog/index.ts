export { createNames, type CatalogNames, type ResolvedName } from './names.ts'
export { passes, type ToolFilter } from './patterns.ts'
export { type NamedServer } from './prefixes.ts'
export { type View } from './views.ts'
