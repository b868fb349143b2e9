/**
 * The element `<impersonation-banner>`: one row above everything else on the page that says who is viewed, by whom, why, and
 * for how much longer. Emits `end` when its button is pressed, `over` when the time is up, and `continue` when someone has
 * confirmed that the view is over. Importing the module defines the element.
 */
export declare class ImpersonationBanner extends HTMLElement {
  /** The name of the person who is viewed. Default: `''`, which is shown as "someone else". */
  user: string
  /** The name of the person who views. Default: `''`, which is not shown. */
  actor: string
  /** Why, for example a ticket. Default: `''`, which is not shown. */
  reason: string
  /** When the view ends, in seconds since the epoch. Default: `NaN`, which shows no time and never emits `over`. */
  until: number
  /**
   * Whether nothing can be changed in the view, shown as *Read only*. Default: `false`, which is shown as *Can change things*.
   * As an attribute, `read-only` is `true` if it is empty or `true`.
   */
  readOnly: boolean
  /** The edge of the window that it is shown at: `'bottom'`, or else the top. Default: `''`. */
  side: string
  /**
   * The state of the view: `''` (it goes on), `'stopping'`, `'failed'` (the stop is tried again), `'stopped'`, or
   * `'over'`: no row is shown, and the page is covered until the engineer confirms it if this tab has shown a view before.
   * Default: `''`.
   */
  state: string
}

declare global {
  interface HTMLElementTagNameMap {
    'impersonation-banner': ImpersonationBanner
  }
}
