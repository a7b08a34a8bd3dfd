/** What a view serves: some of the tools, under names and descriptions of one's own. */
export interface View {
  /** Patterns of the names in `/mcp` that are served, such as `crm_*`. @default all */
  readonly tools: readonly string[]
  /** Patterns of those that are not. @default none */
  readonly deny: readonly string[]
  /** Names of one's own, by the name in `/mcp`. @default none */
  readonly rename: Readonly<Record<string, string>>
  /** Descriptions of one's own, by the name in `/mcp`. @default none */
  readonly descriptions: Readonly<Record<string, string>>
}
