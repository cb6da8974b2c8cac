// Base classes of all components, and the function that prepares a component class for Streamlit.

/**
 * Functions that send a component's values to the server. A state stays set; a trigger is set for only one script run.
 * @typedef {{
 *   setStateValue: (name: string, value: any) => void,
 *   setTriggerValue: (name: string, value: any) => void,
 * }} Server
 */

/**
 * A component that Streamlit can mount.
 * @typedef {{ server: Server, show: (data: any) => unknown, close?: () => void }} Mounted
 */

/** Base class of components. Each component fills one element of the page. */
export class Component {
  /** @type {Server} */
  server;
  /** @type {(() => void)[]} functions to call when the component leaves the page */
  leaving = [];

  /**
   * @param {HTMLElement | ShadowRoot} parent
   * @param {HTMLElement} root element that the component fills
   */
  constructor(parent, root) {
    this.root = root;
    parent.append(root);
  }

  close() {
    for (const leave of this.leaving) leave();
    this.root.remove();
  }
}

/** A component that is painted once in the next animation frame, however often `draw` is called. Resizing calls it. */
export class PaintedComponent extends Component {
  /** @type {number | null} the id of the requested animation frame, if there is one */
  frame = null;
  resizing = new ResizeObserver(() => this.draw());

  /**
   * @param {HTMLElement | ShadowRoot} parent
   * @param {HTMLElement} root element that the component fills
   */
  constructor(parent, root) {
    super(parent, root);
    this.resizing.observe(root);
    this.leaving.push(() => this.resizing.disconnect());
  }

  draw() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      if (this.root.isConnected && this.root.clientWidth) this.paint();
    });
  }

  /** @abstract */
  paint() {}
}

/**
 * Wraps a component class as the function that Streamlit calls. Streamlit calls this function when the page is drawn,
 * and again with new data or another theme. It calls the returned function when the component leaves the page.
 * @param {new (parent: HTMLElement | ShadowRoot) => Mounted} ComponentClass
 */
export function mount(ComponentClass) {
  /** @type {WeakMap<object, Mounted>} */
  const mounted = new WeakMap();
  /** @param {{ data: any, parentElement: HTMLElement | ShadowRoot } & Server} call */
  return ({ data, parentElement, setStateValue, setTriggerValue }) => {
    const component = mounted.get(parentElement) ?? new ComponentClass(parentElement);
    mounted.set(parentElement, component);
    component.server = { setStateValue, setTriggerValue };
    component.show(data);
    return () => {
      mounted.delete(parentElement);
      component.close?.();
    };
  };
}
